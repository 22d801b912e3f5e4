"""The one die of a machine of family `mesh`."""

from __future__ import annotations

from typing import Any

from kernbench.machine.dies import Die, Dies, DieSize


def _sizes(_spec: Any) -> dict[str, DieSize]:
    return {}


def _find(_node: str) -> Die | None:
    return Die("chip", "chip", "chip")


DIES = Dies(_sizes, _find, {"router": "mesh_router"})
