"""The front-end of benches of Tanto programs. They are benches as others are, whose kernels stand in files beside theirs."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernbench.modes import EVENT_MODES, SWEEP_MODES
from kernbench.sweep.front_ends.benches import BenchWorkload, run_bench_point
from kernbench.sweep.workload import FrontEnd

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.sweep.grid.grid import Grid


@dataclass(frozen=True, slots=True)
class TantoBenchWorkload(BenchWorkload):
    """A bench of Tanto programs."""

    @property
    def front_end(self) -> str:
        """As of `Workload`."""
        return FRONT_END.name

    @property
    def digests(self) -> Mapping[str, str]:
        """As of `Workload`; its kernels belong to it."""
        folder = self.of.file.parent / "kernels"
        return {f"bench {self.given}": digest_of([self.of.file, *sorted(folder.rglob("*"))], self.of.file.parent)}

    def problems(self, grid: Grid) -> Iterator[str]:
        """As of `Workload`."""
        yield from BenchWorkload.problems(self, grid)
        yield from mode_problems(grid)


def mode_problems(grid: Grid) -> Iterator[str]:
    """What is wrong with the mode of a grid of Tanto programs."""
    if grid.mode in SWEEP_MODES and grid.mode not in EVENT_MODES:
        yield f"{grid.marks['mode']}: mode {grid.mode} bounds benches of family 'sip'; give hybrid or flit for Tanto programs"


def digest_of(files: list[Path], folder: Path) -> str:
    """The digest of files by their paths from a folder; other things than files are left out."""
    digest = hashlib.sha256()
    for path in files:
        if path.is_file():
            digest.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _find(grid: Grid) -> TantoBenchWorkload | None:
    from kernbench.runs.bench import find_bench

    with warnings.catch_warnings(action="ignore"):  # of other files: the front-end of benches tells them
        found = find_bench(str(grid.bench))
    return TantoBenchWorkload(found, str(grid.bench)) if found.is_tanto else None


SMALL = {
    "bench": "tanto-unary",
    "topology": "tensix_tiny",
    "parameters": {"cores": 1, "tiles": 1, "frame": 1},
}
FRONT_END = FrontEnd("tanto-bench", _find, run_bench_point, SMALL)
