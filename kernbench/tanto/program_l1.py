"""What the objects of a program file take of L1, found without a chip."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernbench.library import show_path
from kernbench.tanto.formats import find_format
from kernbench.tanto.program_file import LocalSpec, PipeSpec, SemaphoreSpec, load_program
from kernbench.tanto.tiles import TILE

_SEMAPHORE_BYTES = 4


@dataclass(frozen=True, slots=True)
class ProgramL1:
    """Of each object its name and the bytes that it takes on a core that has it, and the bytes of the fullest core."""

    file: str
    objects: dict[str, int]
    peak_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"file": self.file, "l1": self.objects, "l1_peak_bytes": self.peak_bytes}


def find_l1(path: Path) -> ProgramL1:
    """What a program file takes. Errors: InputError."""
    spec = load_program(path)
    objects, cores, everywhere = dict[str, int](), Counter[tuple[int, int]](), 0
    kinds = {"local": spec.device_locals + spec.locals, "pipe": spec.pipes, "semaphore": spec.semaphores}
    for kind, all in kinds.items():
        for one in all:
            nbytes = _bytes_of(one)
            objects[f"{kind} {one.id}" + (f" ({one.name})" if one.name else "")] = nbytes
            everywhere += nbytes if not one.ranges else 0
            for place in {
                (x, y) for x0, y0, x1, y1 in one.ranges for x in range(x0, x1 + 1) for y in range(y0, y1 + 1)
            }:
                cores[place] += nbytes
    return ProgramL1(show_path(path), objects, everywhere + max(cores.values(), default=0))


def _bytes_of(one: LocalSpec | PipeSpec | SemaphoreSpec) -> int:
    """The bytes of an object on a core; a pipe over a local takes none of its own."""
    if isinstance(one, SemaphoreSpec):
        return _SEMAPHORE_BYTES
    if isinstance(one, PipeSpec):
        return find_format(one.fmt).bytes_of(one.tiles * TILE) if one.local < 0 else 0
    return find_format(one.fmt).bytes_of(one.size)
