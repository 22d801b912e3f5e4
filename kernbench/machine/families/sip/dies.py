"""The dies of a `sip` machine: cubes and IO chiplets; the switch is on the board."""

from __future__ import annotations

from typing import Any

from kernbench.machine.dies import Die, Dies


def _outlines(spec: Any) -> dict[str, float]:
    from kernbench.machine.families.sip.io_chiplet import chiplets_mm2  # it loads the checker of fields

    return {"cube": spec.cube.width_mm * spec.cube.height_mm, "io": chiplets_mm2(spec) / spec.sip.io_chiplets}


def _find(node: str) -> Die | None:
    sip, _, rest = node.partition(".")
    die = rest.partition(".")[0]
    return Die(die.rstrip("0123456789"), f"{sip}.{die}", sip) if die else None


DIES = Dies(_outlines, _find)
