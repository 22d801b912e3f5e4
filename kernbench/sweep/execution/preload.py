"""Imports of a worker, done once by the process from which workers are forked; nothing here may start a thread."""

from __future__ import annotations

import kernbench.engine
import kernbench.runs.run
import kernbench.sweep.execution.shared_structure
import kernbench.sweep.execution.worker  # noqa: F401
