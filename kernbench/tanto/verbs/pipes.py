"""The verbs of a pipe: a kernel's own pointers, where it reads and where it writes, and how large its frames are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from kernbench.tanto.tiles import TILE

if TYPE_CHECKING:
    from kernbench.tanto.cores.storage import PipePart
    from kernbench.tanto.timing.dataflow_rows import DataflowPipeRows, DataflowRows
    from kernbench.tanto.timing.kernel_log import Row
    from kernbench.tanto.timing.math_rows import MathPipeRows, MathRows


class PipeVerbs(ABC):
    """A pipe as a kernel sees it: its frame, the tiles it read and wrote, and where it packs next."""

    def __init__(self, part: PipePart, log: DataflowRows | MathRows, *, is_math: bool) -> None:
        self._part = log.pipes[part.id] = part
        self._log, self.tiles = log, part.tiles
        self.frame = part.frame or part.tiles
        self.read_tiles = self.written_tiles = 0  # that this kernel popped and pushed
        self.packed = 0  # tiles of the write frame
        self.waited = self.reserved = 0  # tiles, from the first, that this kernel knows to be there, or to have room
        self.may_read = is_math if part.kind == 2 else not is_math or part.kind == 0
        self.may_write = is_math if part.kind == 2 else not is_math or part.kind == 1

    @property
    def part(self) -> PipePart:
        """The part on this core."""
        return self._part

    @cached_property
    def rows(self) -> DataflowPipeRows | MathPipeRows:
        """What it adds to the log of the kernel."""
        return self._log.pipe(self._part)

    def read_base(self) -> int:
        """The first element of the read frame."""
        return self.read_tiles % self.tiles * TILE

    def write_base(self) -> int:
        """The first element of the write frame."""
        return self.written_tiles % self.tiles * TILE

    # What running kernels and scripts supply

    @abstractmethod
    def check_frame(self, call: str, *, writes: bool) -> None:
        """Check that this kernel may read or write the pipe, and has a frame."""

    @abstractmethod
    def await_room(self) -> int:
        """Wait for room for a frame. Returns how many tiles in all are popped when there is."""

    @abstractmethod
    def await_tiles(self) -> int:
        """Wait for a frame of data. Returns how many tiles in all are pushed when it is there."""

    @abstractmethod
    def check_push(self) -> None:
        """Check that the frame may be pushed."""

    def pushed(self, row: Row) -> None:  # noqa: B027
        """Let others see the frame, which a row has pushed."""

    @abstractmethod
    def check_pop(self) -> None:
        """Check that the frame may be popped."""

    def popped(self) -> None:  # noqa: B027
        """Let others see the room, which the last row has given."""

    @abstractmethod
    def refuse_frame(self, tiles: int) -> Exception:
        """The error of a frame that is larger than the pipe."""

    # Methods of the language

    def set_frame(self, tiles: int) -> None:
        """Set the frame. Errors: TantoError for one larger than the pipe."""
        if tiles > self.tiles:
            raise self.refuse_frame(tiles)
        self.frame = tiles
        self.rows.set_frame(tiles)

    def reserve_back(self) -> None:
        """Wait for room for a frame."""
        self.check_frame("reserve_back", writes=True)
        popped = self.await_room()
        self.packed, self.reserved = 0, self.written_tiles + self.frame
        self.rows.wait_room(popped)

    def push_back(self) -> None:
        """Give the frame to readers."""
        self.check_frame("push_back", writes=True)
        self.check_push()
        self.pushed(self.rows.push())
        self.written_tiles += self.frame
        self.packed = 0

    def wait_front(self) -> None:
        """Wait for a frame of data."""
        self.check_frame("wait_front", writes=False)
        pushed = self.await_tiles()
        self.waited = max(self.waited, pushed)
        self.rows.wait_tiles(pushed)

    def pop_front(self) -> None:
        """Give the frame back to writers."""
        self.check_frame("pop_front", writes=False)
        self.check_pop()
        self.rows.pop()
        self.popped()
        self.read_tiles += self.frame
        self.waited = max(self.waited, self.read_tiles)
