"""The math object: destination slots, and the operations on tiles of pipes and slots, on whole tiles at a time.

Slots hold float32, or float64 where the object or an operand is of integers that float32 cannot hold. They are converted to the
format of a pipe when they are packed into it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from kernbench.tanto.cores.pipe_end import PipeEnd
from kernbench.tanto.language.methods import BINARIES, REDUCTIONS, SCALED, UNARIES
from kernbench.tanto.tiles import SIDE, TILE, from_matrices, to_matrices
from kernbench.tanto.vector_functions import SCALED as SCALED_FUNCTIONS
from kernbench.tanto.vector_functions import UNARY, bits_to_float, power

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.cores.storage import PipePart
    from kernbench.tanto.formats import Format

_LEAST = np.float32(-3.4028234663852886e38)  # -FLT_MAX
_OPERATIONS: dict[str, Callable[..., Any]] = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


class PipeTiles(Protocol):
    """A pipe from which tiles are read: its part on this core, and the tiles that were popped before."""

    @property
    def part(self) -> PipePart:
        """The part on this core."""
        ...

    read_tiles: int


Pipe = TypeVar("Pipe", bound=PipeTiles)


class MathVerbs(ABC, Generic[Pipe]):
    """The destination slots of a core, and what kernels do with them, running or alone."""

    def __init__(self, run: GridRun, kernel: RunningKernel, element: Format) -> None:
        self.run, self.kernel, self.rows = run, kernel, kernel.compute
        self.precision = element.precision
        self.numbers = run.numbers
        self.count = max(1, run.destination_bytes // (TILE * element.storage.itemsize))
        self.slots: list[np.ndarray | None] = [None] * self.count  # None: zeros, not written yet

    def slot(self, index: int) -> np.ndarray:
        """The float32[32, 32] of a slot, to be changed. Errors: TantoError for a slot that is not there."""
        self.check(index)
        found = self.slots[index]
        if found is None:
            found = self.slots[index] = np.zeros((SIDE, SIDE), self.precision)
        return found

    # What running kernels and scripts supply

    @abstractmethod
    def check(self, index: int) -> None:
        """Check the index of a slot."""

    @abstractmethod
    def tile(self, pipe: Pipe, index: int) -> np.ndarray | None:
        """The float32[32, 32] of a tile of a pipe's read frame; None without numbers."""

    @abstractmethod
    def pack_place(self, index: int, pipe: Pipe, place: Any) -> None:
        """Pack a tile; of one with a place only what is there."""

    # Pack

    def pack(self, index: int, pipe: Pipe) -> None:
        """Pack a whole tile."""
        self.pack_place(index, pipe, None)

    def pack_row(self, index: int, pipe: Pipe) -> None:
        """Pack the result of a row reduction: the first column."""
        self.pack_place(index, pipe, (slice(None), 0))

    def pack_col(self, index: int, pipe: Pipe) -> None:
        """Pack the result of a column reduction: the first row."""
        self.pack_place(index, pipe, (0, slice(None)))

    def pack_scalar(self, index: int, pipe: Pipe) -> None:
        """Pack the first element."""
        self.pack_place(index, pipe, (0, 0))

    # Matrix unit

    def copy(self, pipe: Pipe, source: int, slot: int) -> None:
        """A tile to a slot."""
        self.check(slot)
        found = self.tile(pipe, source)
        self.rows.matrix("copy", self.rows.sources.take(pipe.part.fmt))
        if self.numbers and found is not None:
            self.slots[slot] = found.copy()

    def transpose(self, pipe: Pipe, source: int, slot: int) -> None:
        """A transposed tile to a slot."""
        self.check(slot)
        found = self.tile(pipe, source)
        self.rows.matrix("transpose", self.rows.sources.take(pipe.part.fmt))
        if self.numbers and found is not None:
            self.slots[slot] = found.T.copy()

    def matmul(self, a: Pipe, b: Pipe, ia: int, ib: int, slot: int, transpose: bool) -> None:
        """Add a product of tiles to a slot."""
        self.check(slot)
        left, right = self.tile(a, ia), self.tile(b, ib)
        size = self.rows.sources.multiply(
            (a.part.id, a.read_tiles + ia), a.part.tile_bytes, (b.part.id, b.read_tiles + ib), b.part.tile_bytes
        )
        self.rows.matrix("matmul", size)
        if left is None or right is None or not self.numbers:
            return
        product = left @ (right.T if transpose else right)
        known = self.slots[slot]
        if known is None:
            self.slots[slot] = product
        else:
            known += product

    def binary(self, operation: str, form: str, a: Pipe, b: Pipe, ia: int, ib: int, slot: int) -> None:
        """A sum, difference or product of two tiles, the second one broadcast."""
        self.check(slot)
        left, right = self.tile(a, ia), self.tile(b, ib)
        self.rows.matrix(operation, self.rows.sources.take(a.part.fmt, b.part.fmt))
        if left is None or right is None or not self.numbers:
            return
        if form == "rows":
            right = right[:1]
        elif form == "cols":
            right = right[:, :1]
        elif form == "scalar":
            right = right[0, 0]
        self.slots[slot] = _OPERATIONS[operation](left, right)

    def reduce(self, operation: str, over: str, a: Pipe, b: Pipe, ia: int, ib: int, slot: int) -> None:
        """A scaled sum or maximum over rows, columns or all, accumulated in a slot."""
        self.check(slot)
        source, scale = self.tile(a, ia), self.tile(b, ib)
        self.rows.matrix("reduce", self.rows.sources.take(a.part.fmt, b.part.fmt))
        if source is None or scale is None or not self.numbers:
            return
        axis = {"rows": 1, "cols": 0, "scalar": None}[over]
        place: Any = {"rows": (slice(None), 0), "cols": (0, slice(None)), "scalar": (0, 0)}[over]
        fresh = self.slots[slot] is None
        known = self.slot(slot)
        if operation == "sum":
            known[place] += source.sum(axis=axis) * scale[0, 0]
        else:
            found = source.max(axis=axis) * scale[0, 0]
            known[place] = np.maximum(_LEAST if fresh else known[place], found)

    # Vector unit

    def unary(self, name: str, slot: int) -> None:
        """A function of a slot, in place."""
        self.check(slot)
        if name == "max":
            self.check(slot + 1)
        self.rows.vector(name)
        if not self.numbers:
            return
        values = self.slot(slot)
        self.slots[slot] = np.maximum(values, self.slot(slot + 1)) if name == "max" else as_float(UNARY[name](values))

    def scaled(self, name: str, slot: int, operand: int) -> None:
        """A function of a slot and a scalar, in place."""
        self.check(slot)
        self.rows.vector(name)
        if not self.numbers:
            return
        values = self.slot(slot)
        if name == "power":
            self.slots[slot] = as_float(power(values, operand))
        else:
            self.slots[slot] = as_float(SCALED_FUNCTIONS[name](values, bits_to_float(operand)))


class MathObject(MathVerbs[PipeEnd]):
    """The destination slots of a running kernel from their declaration to the end of their scope."""

    def check(self, index: int) -> None:
        if index >= self.count:
            raise self.kernel.error(f"slot {index}; the math object has {self.count} destination slots")

    def tile(self, pipe: PipeEnd, index: int) -> np.ndarray | None:
        part, kernel = pipe.part, self.kernel
        if index >= part.tiles:
            pipe.check_use(writes=False)
            self.run.note_outside(kernel, part, index * TILE, TILE, part.tiles * TILE)
            return np.zeros((SIDE, SIDE), self.precision)
        if pipe.read_tiles + index >= pipe.waited:
            self._hold_back(pipe, index)
        if not self.numbers:
            return None
        first = pipe.read_tiles % part.tiles
        return part.matrix((first + index) % part.tiles, first, pipe.frame)

    def _hold_back(self, pipe: PipeEnd, index: int) -> None:
        """A read that nothing was waited for: let the tile come if it will, and note the race."""
        pipe.check_use(writes=False)
        part, kernel, tile = pipe.part, self.kernel, pipe.read_tiles + index
        pipe.hold_back("a read of", tile)
        self.run.races.note_tile(kernel, part, index, tile, self.rows.next_unpack())

    def pack_place(self, index: int, pipe: PipeEnd, place: Any) -> None:
        self.check(index)
        part = pipe.part
        if pipe.packed == 0:
            pipe.check_use(writes=True)
        if pipe.packed >= part.tiles:
            raise self.kernel.error(f"packs tile {pipe.packed + 1} of a frame of {part}, which has {part.tiles} tiles")
        pipe.check_room("pack into", pipe.packed * TILE, TILE)
        at = (pipe.written_tiles + pipe.packed) % part.tiles
        pipe.packed += 1
        self.rows.pack(part.fmt.bytes_of(TILE))
        if not self.numbers:
            return
        slot = self.slots[index]
        values = np.zeros((SIDE, SIDE), self.precision) if slot is None else slot
        stored = part.fmt.from_float(from_matrices(values), nearest=self.run.nearest).reshape(-1)
        here = part.data[at * TILE : (at + 1) * TILE]
        if place is None:
            here[:] = stored
        else:
            known = to_matrices(here.reshape(1, TILE)).reshape(SIDE, SIDE).copy()
            known[place] = to_matrices(stored.reshape(1, TILE))[0][place]
            here[:] = from_matrices(known)[0]
        part.forget(at * TILE, TILE)


def as_float(values: Any) -> np.ndarray:
    """The values as float32, or as float64 if they are."""
    found = np.asarray(values)
    return found if found.dtype == np.float64 else found.astype(np.float32, copy=False)


def forward(call: str, *first: str) -> Callable[..., None]:
    """A method that calls another one of its object, with some arguments before its own."""

    def method(self: object, *arguments: Any) -> None:
        getattr(self, call)(*first, *arguments)

    return method


def _add_methods() -> None:
    """The methods that differ in name alone."""
    for name in BINARIES:
        operation, _, form = name.partition("_bcast_")
        setattr(MathVerbs, name, forward("binary", operation, form))
    for name in REDUCTIONS:
        _, operation, over = name.split("_")
        setattr(MathVerbs, name, forward("reduce", operation, over))
    for name in UNARIES:
        setattr(MathVerbs, f"u_{name}", forward("unary", name))
    for name in SCALED:
        setattr(MathVerbs, f"u_{name}", forward("scaled", name))


_add_methods()
