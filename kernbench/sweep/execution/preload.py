"""Imports of a worker, done once by the process from which workers are forked; nothing here may start a thread."""

from __future__ import annotations

from kernbench import engine
from kernbench.runs import run
from kernbench.sweep.execution import shared_structure, worker
from kernbench.traffic import pattern_run

__all__ = ["engine", "pattern_run", "run", "shared_structure", "worker"]
