"""Run a device program on its machine."""

from kernbench.engine.session import Session

__all__ = ["Session"]
