"""One program on a chip: the parts of its objects on each core, its kernels, and what they report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.tanto.cores.races import RaceNotes
from kernbench.tanto.cores.scheduler import Scheduler
from kernbench.tanto.tiles import TILE
from kernbench.tanto.timing.lowering import Lowering

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.kernel import CoreKernel
    from kernbench.tanto.cores.storage import Core, LocalPart, PipePart, SemaphorePart

_OBJECT = re.compile(r"\b(?:global|local|pipe|semaphore) \d+\b")


class GridRun:
    """The state of a program while its kernels run.

    With `numbers` False data is neither moved nor computed; `nearest` rounds to nearest even where formats are converted.
    """

    def __init__(self, machine: Machine, *, numbers: bool, nearest: bool, lowering: Lowering | None = None) -> None:
        self.lowering = Lowering(machine) if lowering is None else lowering
        self.places = self.lowering.places
        self.scheduler = Scheduler()
        self.kernels: list[RunningKernel] = []
        self.numbers, self.nearest = numbers, nearest
        self.destination_bytes = int(self.lowering.core_figures["destination_bytes"])
        self.locals: dict[int, dict[Core, LocalPart]] = {}
        self.device_locals: set[int] = set()  # those that outlive the run
        self.pipes: dict[int, dict[Core, PipePart]] = {}
        self.semaphores: dict[int, dict[Core, SemaphorePart]] = {}
        self.over: dict[int, list[PipePart]] = {}  # pipes over a local's part, by its id()
        self.races = RaceNotes()
        self.outside: dict[str, str] = {}  # by place: a sentence
        self.names: dict[str, str] = {}  # "pipe 2": as its program or the first kernel that has it calls it
        self.warnings: dict[str, str] = {}  # on calls that are missing: by place and call, a sentence

    # Parts on other cores

    def find_core(self, kernel: CoreKernel, x: int, y: int) -> Core:
        """The core at a physical place. Errors: TantoError if there is none."""
        found = self.places.logical((x, y))
        if found is None:
            columns, rows = self.places.grid.columns, self.places.grid.rows
            raise kernel.error(
                f"no core is at the physical place ({x}, {y}); cores have x in {list(columns)} and y in {list(rows)}"
            )
        return found

    def find_cores(self, kernel: CoreKernel, corners: tuple[int, ...], *, with_self: bool) -> list[Core]:
        """The cores in a rectangle of physical places, whose corners come in either order."""
        x0, y0, x1, y1 = corners[:4]
        low, high = (min(x0, x1), min(y0, y1)), (max(x0, x1), max(y0, y1))
        return [core for core in self.places.inside(low, high) if with_self or core != kernel.core]

    def expect(self, kernel: CoreKernel, named: int, cores: Sequence[Core]) -> None:
        """Count the acknowledgements that a multicast waits for and nobody sends; warn of those it does not wait for."""
        there = len(cores)
        kernel.missing += max(0, named - there)
        if named < there - (kernel.core in cores):  # whether a sender counts itself is open
            kernel.warn(
                f"a multicast to {there} cores with num_dests {named}; write_barrier does not wait for the others"
            )

    def _on(self, kernel: CoreKernel, parts: dict[Core, Any], core: Core, what: str) -> Any:
        found = parts.get(core)
        if found is None:
            raise kernel.error(f"{what} is not on core {core[0]},{core[1]}, which is outside of its grid")
        return found

    def local_on(self, kernel: CoreKernel, id: int, core: Core) -> LocalPart:
        """The part of a local on a core. Errors: TantoError outside of its grid."""
        return self._on(kernel, self.locals[id], core, f"local {id}")

    def pipe_on(self, kernel: CoreKernel, id: int, core: Core) -> PipePart:
        """The part of a pipe on a core. Errors: TantoError outside of its grid."""
        return self._on(kernel, self.pipes[id], core, f"pipe {id}")

    def semaphore_on(self, kernel: CoreKernel, id: int, core: Core) -> SemaphorePart:
        """The part of a semaphore on a core. Errors: TantoError outside of its grid."""
        return self._on(kernel, self.semaphores[id], core, f"semaphore {id}")

    def pipes_over(self, part: LocalPart) -> list[PipePart]:
        """The pipes that lie over a local on its core."""
        return self.over.get(id(part), [])

    def note_unread(self) -> None:
        """Warn of pipes that end with tiles for which nobody waited."""
        for id, parts in self.pipes.items():
            for (x, y), part in parts.items():
                if part.pushed > part.waited:
                    left = part.pushed - part.waited
                    self.warnings.setdefault(
                        f"pipe {id}",
                        f"{part} on core {x},{y} ends with {left} tiles that no wait_front was for; is a pop_front missing?",
                    )

    def named(self, sentence: str) -> str:
        """A sentence with the names of the objects in it at its end."""
        found = [one for one in dict.fromkeys(_OBJECT.findall(sentence)) if one in self.names]
        return sentence + "".join(f"; {one} is {self.names[one]}" for one in found)

    # Outside of buffers

    def note_outside(self, kernel: CoreKernel, part: object, first: int, count: int, size: int) -> None:
        """Note a read outside of a buffer, once for each place."""
        place = kernel.place()
        self.outside.setdefault(
            place, f"{place}: {kernel} reads elements {first} to {first + count - 1} of {part}, which has {size:,}"
        )

    def take_partly(self, kernel: CoreKernel, part: Any, first: int, count: int, base: int = 0) -> np.ndarray:
        """Elements of which some are outside of a buffer: zeros there. `base` is where a pipe's frame begins."""
        size = len(part.data)
        self.note_outside(kernel, part, first, count, size)
        if count > 1 << 31:
            raise kernel.error(f"a transfer of {count:,} elements; a core holds fewer")
        found = np.zeros(count, part.data.dtype)
        low, high = max(first, 0), min(first + count, size)
        if low < high:
            at = (np.arange(low, high) + base) % size if base else slice(low, high)
            found[low - first : high - first] = part.data[at]
        return found

    # L1

    def l1_bytes(self) -> dict[Core, list[tuple[int, str]]]:
        """What takes how many bytes of L1, by core."""
        used: dict[Core, list[tuple[int, str]]] = {}
        for parts in (*self.locals.values(),):
            for core, part in parts.items():
                used.setdefault(core, []).append((part.fmt.bytes_of(part.size), str(part)))
        covered = {id(pipe) for pipes in self.over.values() for pipe in pipes}
        for pipes in self.pipes.values():
            for core, pipe in pipes.items():
                size = 0 if id(pipe) in covered else pipe.fmt.bytes_of(pipe.tiles * TILE)
                used.setdefault(core, []).append((size, str(pipe)))
        for semaphores in self.semaphores.values():
            for core, semaphore in semaphores.items():
                used.setdefault(core, []).append((4, str(semaphore)))
        return used
