"""TPipe: FIFOs in global memory between the cube core and the vector cores of a cluster.

A pipe has `slot_num` slots of `slot_bytes`. Its producer allocates a slot (TALLOC), stores into it and commits it (TPUSH); its
consumer waits for a slot (TPOP), loads from it and gives it back (TFREE). A *ready* flag says that a slot is full, once a
push; a *free* flag says that slots are empty again, once for each `period` of them. All vector cores of a cluster are one end:
a cube core waits for the flags of each of them, and sends its own to each.

What the calls promise is checked, and the call that breaks it is named (`kernbench.pto.pipe_ends`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import prod

import numpy as np

from kernbench.dtypes import numpy_dtype
from kernbench.errors import KernelError, shorten
from kernbench.schema.guards import is_whole


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
        given = {"flag": self.flag_id, "slot size": self.slot_bytes, "slot number": self.slot_num, "base": self.base}
        for name, value in given.items():
            if not is_whole(value):
                raise TPipeError(f"a pipe with a {name} of {shorten(repr(value))}; give it a whole number")
        if self.direction not in tuple(Direction):
            raise TPipeError(
                f"a pipe with direction {shorten(repr(self.direction))}; give it one of "
                f"{', '.join(one.name for one in Direction)}"
            )
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

    def address(self, index: int, ring: int = 0) -> int:
        """The address of the slot of a push or a pop. The forms with a GlobalTensor always give that of the first ring."""
        return self.base + (ring * self.slot_num + index % self.slot_num) * self.slot_bytes

    @property
    def end(self) -> int:
        """The address behind its last ring."""
        return self.address(0, 1 + (self.direction == Direction.DIR_BOTH))

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


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """The end of a call on a core. Calls of a core follow each other, so it has come when the core can give it to TSYNC."""

    core: str
    call: str
