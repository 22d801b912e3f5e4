"""TPipe: FIFOs in global memory between the cube core and the vector cores of a cluster.

A pipe has `slot_num` slots of `slot_bytes`. Its producer allocates a slot (TALLOC), stores into it and commits it (TPUSH); its
consumer waits for a slot (TPOP), loads from it and gives it back (TFREE). A *ready* flag says that a slot is full, once a
push; a *free* flag says that slots are empty again, once for each `period` of them. All vector cores of a cluster are one end:
a cube core waits for the flags of each of them, and sends its own to each.

What the calls promise is checked, and the call that breaks it is named: pairs of calls, flags of two pipes that collide, slots
that overlap while they are in use, and flags that nobody has taken at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from math import prod

import numpy as np

from kernbench.dtypes import numpy_dtype
from kernbench.errors import KernelError


class TPipeError(KernelError):
    """A program that breaks what the calls of a pipe promise."""

    code = "tpipe"


class Direction(IntEnum):
    """Which way a pipe leads, with the numbers of the C++ form."""

    DIR_C2V = 1
    DIR_V2C = 2
    DIR_BOTH = 3


class TileSplitAxis(IntEnum):
    """How the vector cores of a cluster share a slot."""

    TILE_NO_SPLIT = 0
    TILE_UP_DOWN = 1
    TILE_LEFT_RIGHT = 2


@dataclass(frozen=True, slots=True)
class TPipe:
    """A pipe at an address of global memory. With DIR_BOTH a second ring, behind the first one, leads from vector to cube."""

    flag_id: int
    direction: Direction
    slot_bytes: int
    slot_num: int
    base: int

    def __post_init__(self) -> None:
        if self.slot_num < 1 or self.slot_bytes < 1 or self.flag_id < 0:
            raise TPipeError(
                f"a pipe with flag {self.flag_id} and {self.slot_num} slots of {self.slot_bytes} bytes; give it slots of 1 "
                "byte or more, and a flag of 0 or more"
            )

    @property
    def period(self) -> int:
        """The number of slots that one free flag gives back."""
        return self.slot_num if self.slot_num <= 2 else self.slot_num // 2

    @property
    def flags(self) -> range:
        """The flags that it takes: ready and free for each direction."""
        return range(self.flag_id, self.flag_id + (4 if self.direction == Direction.DIR_BOTH else 2))

    def leads(self, from_cube: bool) -> bool:
        """Whether a core of this kind may push."""
        return bool(self.direction & (Direction.DIR_C2V if from_cube else Direction.DIR_V2C))

    def ring(self, from_cube: bool) -> int:
        """The number of the ring in a direction."""
        return int(self.direction == Direction.DIR_BOTH and not from_cube)

    def address(self, index: int) -> int:
        """The address of the slot of a push or a pop, as the forms with a GlobalTensor give it: always of the first ring."""
        return self.base + index % self.slot_num * self.slot_bytes

    def __str__(self) -> str:
        return f"pipe {self.flag_id} ({self.direction.name})"


@dataclass(slots=True)
class GlobalTensor:
    """A region of global memory by shape and stride, in elements; TALLOC and TPOP give it its address."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str = "f32"
    address: int = 0

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return numpy_dtype(self.dtype).itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return prod(self.shape) * self.itemsize

    @property
    def span_bytes(self) -> int:
        """The bytes from its first to its last element."""
        return (sum((n - 1) * step for n, step in zip(self.shape, self.stride, strict=True)) + 1) * self.itemsize

    def data(self, offset: int = 0) -> int:
        """The address of the element that is `offset` elements behind the first."""
        return self.address + offset * self.itemsize

    def array(self, raw: np.ndarray) -> np.ndarray:
        """Its elements, of uint8[span_bytes] from its address on, which can be written to."""
        kind = numpy_dtype(self.dtype)
        strides = tuple(step * kind.itemsize for step in self.stride)
        return np.lib.stride_tricks.as_strided(raw.view(kind), self.shape, strides)

    def split_bytes(self, split: TileSplitAxis, subblock: int) -> int:
        """The offset of a vector core's part: of its rows, or of its columns."""
        rows, cols = (1, *self.shape)[-2:]
        if split == TileSplitAxis.TILE_UP_DOWN:
            return subblock * rows * cols * self.itemsize
        return subblock * cols * self.itemsize if split == TileSplitAxis.TILE_LEFT_RIGHT else 0


def global_tensor(
    address: int, shape: tuple[int, ...], stride: tuple[int, ...] | None = None, dtype: str = "f32"
) -> GlobalTensor:
    """A region at an address; without strides it has no gaps."""
    dense = tuple(prod(shape[at + 1 :]) for at in range(len(shape)))
    return GlobalTensor(shape, stride or dense, dtype, address)


@dataclass(slots=True)
class End:
    """One core's side of a pipe in one direction."""

    core: str
    is_producer: bool
    count: int = 0  # slots that were allocated, or popped
    closed: int = 0  # slots that were pushed, or freed
    flags: int = 0  # free flags that were sent or taken
    opened: GlobalTensor | None = None
    has_ended: bool = False  # its function; a producer may still wait for flags

    def open(self, pipe: TPipe, tensor: GlobalTensor) -> None:
        """TALLOC or TPOP. Errors: TPipeError if the slot before is still open."""
        if self.opened is not None:
            first, second = ("TALLOC", "TPUSH") if self.is_producer else ("TPOP", "TFREE")
            raise TPipeError(f"{self.core}: {first} on {pipe} while slot {self.count - 1} is open; call {second} first")
        self.opened = tensor
        self.count += 1

    def close(self, pipe: TPipe) -> None:
        """TPUSH or TFREE. Errors: TPipeError if no slot is open."""
        if self.opened is None:
            first, second = ("TALLOC", "TPUSH") if self.is_producer else ("TPOP", "TFREE")
            raise TPipeError(f"{self.core}: {second} on {pipe} without a slot; call {first} before")
        self.opened = None
        self.closed += 1


@dataclass(slots=True)
class _Use:
    """A slot in use: which pushes and frees are still to come."""

    pipe: TPipe
    from_cube: bool
    index: int
    start: int
    end: int
    frees: int


@dataclass(slots=True)
class ClusterPipes:
    """The pipes of one program on a cluster, and what all its cores have done with them."""

    vectors: int  # vector cores
    pipes: dict[int, TPipe] = field(default_factory=dict[int, TPipe])  # by flag
    ends: dict[tuple[TPipe, bool, int], End] = field(default_factory=dict[tuple[TPipe, bool, int], End])
    uses: list[_Use] = field(default_factory=list[_Use])

    def register(self, pipe: TPipe) -> None:
        """A pipe is used. Errors: TPipeError if another one has one of its flags."""
        for flag in pipe.flags:
            other = self.pipes.setdefault(flag, pipe)
            if other != pipe:
                raise TPipeError(
                    f"{pipe} and {other} both use flag {flag}; a pipe takes {len(pipe.flags)} flags from its own on, so give "
                    f"one of them a flag of {max(other.flags) + 1} or more"
                )

    def end(self, pipe: TPipe, from_cube: bool, lane: int, core: str) -> End:
        """The side of a core (lane 0: the cube) in the direction from the cube or to it.

        Errors: TPipeError for a direction that the pipe does not have.
        """
        self.register(pipe)
        if not pipe.leads(from_cube):
            raise TPipeError(
                f"{core}: {pipe} does not lead {'from' if from_cube else 'to'} the cube core; change its direction"
            )
        key = (pipe, from_cube, lane)
        if key not in self.ends:
            self.ends[key] = End(core, is_producer=(lane == 0) == from_cube)
        return self.ends[key]

    def take(self, pipe: TPipe, from_cube: bool, index: int, core: str) -> None:
        """A slot is written from now on. Errors: TPipeError if another slot in use overlaps it."""
        start = pipe.address(index)
        end = start + pipe.slot_bytes
        for use in self.uses:
            same = use.pipe == pipe and use.from_cube == from_cube
            if not (same and use.index == index) and use.start < end and start < use.end:
                raise TPipeError(
                    f"{core}: slot {index} of {pipe} is at the address of slot {use.index} of {use.pipe}, which is still in "
                    "use; give the pipes memory of their own, and one pipe to each direction"
                )
        if not any(use.pipe == pipe and use.from_cube == from_cube and use.index == index for use in self.uses):
            self.uses.append(_Use(pipe, from_cube, index, start, end, self.vectors if from_cube else 1))

    def free(self, pipe: TPipe, from_cube: bool, index: int) -> None:
        """A consumer has given a slot back; it is free when all have."""
        for use in self.uses:
            if use.pipe == pipe and use.from_cube == from_cube and use.index == index:
                use.frees -= 1
        self.uses = [use for use in self.uses if use.frees]

    def check_end(self) -> None:
        """Cores have ended. Errors: TPipeError for a slot that one has left open, or slots that nobody will free."""
        for (pipe, _, _), end in self.ends.items():
            if end.has_ended and end.opened is not None:
                first, second = ("TALLOC", "TPUSH") if end.is_producer else ("TPOP", "TFREE")
                raise TPipeError(
                    f"{end.core} ends with slot {end.count - 1} of {pipe} open; pair each {first} with a {second}"
                )
        for key, end in self.ends.items():
            if end.has_ended and end.is_producer:
                self._check_credits(*key, end)

    def _check_credits(self, pipe: TPipe, from_cube: bool, _lane: int, producer: End) -> None:
        """Errors: TPipeError if a consumer of a producer's slots has not freed as many as were pushed."""
        cluster = producer.core.rpartition(".")[0]
        for other in range(1, self.vectors + 1) if from_cube else (0,):
            consumer = self.ends.get((pipe, from_cube, other))
            freed = 0 if consumer is None else consumer.closed
            if freed != producer.closed:
                name = f"{cluster}.aiv{other - 1}" if other else f"{cluster}.aic"
                raise TPipeError(
                    f"{pipe} leaks credits: {producer.core} has pushed {producer.closed} slots and {name} has freed {freed}; "
                    "pop and free as many as are pushed"
                )
