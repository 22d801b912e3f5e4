"""Where the energies of two kept runs differ: by part, dynamic energy apart from static."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kernbench.runs.file_names import ENERGY
from kernbench.sealing import load_sealed_json

Energies = Mapping[tuple[str, str], int]  # aJ by part and kind; "" for dies where no part is
DYNAMIC, STATIC = "dynamic", "static"


class MovedEnergy(NamedTuple):
    """The energy of a part in A and in B; part "" is dies, where no part is."""

    part: str
    kind: str  # "dynamic" or "static"
    a_aj: int
    b_aj: int


def read_energies(directory: Path) -> Energies | None:
    """Those of a kept run; None of a run of an earlier version. Errors: OSError, KeyError and others for another file."""
    file = directory / ENERGY
    if not file.is_file():
        return None
    parts = load_sealed_json(file).get("parts", [])
    return {(one["part"], kind): int(one[f"{kind}_aj"]) for one in parts for kind in (DYNAMIC, STATIC)}


def compare_energies(a: Energies | None, b: Energies | None) -> list[MovedEnergy]:
    """What differs, the largest difference first; the differences add up to that of the energies. Nothing without both."""
    if a is None or b is None:
        return []
    found = [MovedEnergy(*key, a.get(key, 0), b.get(key, 0)) for key in dict.fromkeys([*a, *b])]
    moved = [one for one in found if one.a_aj != one.b_aj]
    return sorted(moved, key=lambda one: (-abs(one.b_aj - one.a_aj), one.part, one.kind))
