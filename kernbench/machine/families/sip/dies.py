"""The dies of a `sip` machine: cubes and IO chiplets; the switch is on the board."""

from __future__ import annotations

from typing import Any

from kernbench.machine.dies import Die, Dies, DieSize


def _sizes(spec: Any) -> dict[str, DieSize]:
    from kernbench.machine.families.sip.io_chiplet import longest_mm  # it loads the checker of fields

    if spec.die_area == "parts":
        return {}
    width, height, length = spec.cube.width_mm, spec.cube.height_mm, longest_mm(spec)
    sides = {"ucie_N": width, "ucie_S": width, "ucie_W": height, "ucie_E": height}
    return {
        "cube": DieSize(width * height, sides),
        "io": DieSize(length * spec.sip.io_chiplet_mm, {"io_ucie": length}),
    }


def _find(node: str) -> Die | None:
    sip, _, rest = node.partition(".")
    die = rest.partition(".")[0]
    return Die(die.rstrip("0123456789"), f"{sip}.{die}", sip) if die else None


DIES = Dies(_sizes, _find)
