"""Imports of a worker, done once by the process from which workers are forked; nothing here may start a thread."""

from __future__ import annotations

from kernbench import engine
from kernbench.runs import run
from kernbench.sweep.execution import shared_structure, worker

__all__ = ["engine", "run", "shared_structure", "worker"]
