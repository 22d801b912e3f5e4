"""Pipes as a running kernel sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.tanto.cores.storage import Core, PipePart, ring_pieces
from kernbench.tanto.cores.transfers import CopyEnd, fitting
from kernbench.tanto.tiles import TILE
from kernbench.tanto.verbs.pipes import PipeVerbs
from kernbench.tanto.verbs.transfers import as_signed

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.language.types import Scalar
    from kernbench.tanto.timing.kernel_log import Row


class PipeEnd(PipeVerbs, CopyEnd[PipePart]):
    """A pipe in a running kernel."""

    def __init__(self, run: GridRun, kernel: RunningKernel, part: PipePart, element: Scalar | None) -> None:
        super().__init__(part, kernel.rows, is_math=kernel.is_math)
        self.begin(run, kernel, element)
        self.fills = False  # this kernel writes to it, so a read may be of its own data

    def check_use(self, *, writes: bool) -> None:
        """Check that the kind of the pipe lets this kernel read or write it. Errors: TantoError."""
        if not (self.may_write if writes else self.may_read):
            kinds = ("an input", "an output", "an intermediate")
            who, does = ("a math" if self.kernel.is_math else "a dataflow"), ("write" if writes else "read")
            raise self.kernel.error(
                f"{self._part} is {kinds[self._part.kind]} pipe, which {who} kernel does not {does}"
            )

    def refuse_frame(self, tiles: int) -> Exception:
        return self.kernel.error(f"a frame of {tiles} tiles for {self._part}, which has {self.tiles}")

    def check_frame(self, call: str, *, writes: bool) -> None:
        self.check_use(writes=writes)
        if not self.frame:
            self.kernel.warn(f"{call} of {self._part} with a frame of 0 tiles; give set_frame 1 at least")

    def await_room(self) -> int:
        part, kernel = self._part, self.kernel
        while part.pushed - part.popped + self.frame > part.tiles:
            kernel.block(
                part.waiters,
                f"room for {self.frame} tiles in {part} ({part.pushed - part.popped} of {part.tiles} are taken)",
            )
        return part.pushed + self.frame - part.tiles

    def await_tiles(self) -> int:
        part, kernel = self._part, self.kernel
        while part.pushed - part.popped < self.frame:
            kernel.block(part.waiters, f"{self.frame} tiles of {part} ({part.pushed - part.popped} are there)")
        part.waited = max(part.waited, part.popped + self.frame)
        return part.popped + self.frame

    def check_push(self) -> None:
        part, kernel = self._part, self.kernel
        if self.written_tiles + self.frame > self.reserved:
            kernel.warn(f"push_back of {part} without reserve_back before")
        elif kernel.is_math and not self.packed and len(part.twins) < 2:
            kernel.warn(f"push_back of {part} before pack; the frame has what was there before")

    def pushed(self, row: Row) -> None:
        part = self._part
        self.run.races.note_push(self.kernel, part, self.written_tiles, self.frame, row)
        part.pushed += self.frame
        part.pushes.append((part.pushed, *row))
        self._wake()

    def check_pop(self) -> None:
        part, kernel = self._part, self.kernel
        if self.read_tiles + self.frame > self.waited:
            kernel.warn(f"pop_front of {part} without wait_front before")
        while part.pushed - part.popped < self.frame and not kernel.released:
            kernel.block(part.waiters, f"{self.frame} tiles of {part} to pop", lenient=True)
        kernel.released = False
        part.popped = min(part.popped + self.frame, part.pushed)
        part.waited = max(part.waited, part.popped)

    def popped(self) -> None:
        row = self.kernel.rows.last_row()
        self.run.races.note_reuse(self.kernel, self._part, self.read_base(), self.frame * TILE, row)
        self._wake()

    def _wake(self) -> None:
        waiters = self._part.waiters
        if waiters:
            self._part.waiters = []
            for kernel in waiters:
                kernel.wake()

    # What was reserved and waited for

    def check_room(self, call: str, offset: int, count: int) -> None:
        """Warn if elements from an offset in the write frame on are not in a frame that was reserved."""
        self.fills = True
        room = (self.reserved - self.written_tiles) * TILE
        if offset + count > room:
            self.kernel.warn(
                f"{call} {self._part} "
                + (
                    f"beyond the frame, of {room // TILE} tiles, that reserve_back gave; set_frame sets its size"
                    if room > 0
                    else "without reserve_back before"
                )
            )

    def check_there(self, call: str, offset: int, count: int) -> None:
        """Warn if elements from an offset in the read frame on were not waited for; let them come if they will."""
        offset = as_signed(offset)
        tile = self.read_tiles + (offset + count - 1) // TILE
        if tile < self.waited or offset + count > self._part.tiles * TILE:
            return
        self.hold_back(call, tile)
        if self.fills:
            return
        row = self.kernel.flow.next_row()
        self.run.races.note_tile(self.kernel, self._part, tile - self.read_tiles, tile, row)

    def note_far(self, part: PipePart, offset: int, count: int, row: Row) -> None:
        if self.reserved > self.written_tiles:  # this core has the frame too, so it comes at the same place
            self.run.races.note_far(self.kernel, part, self.written_tiles + (offset + count - 1) // TILE, row)
        else:
            self.run.races.note_far(self.kernel, part, part.pushed, row)

    def hold_back(self, call: str, tile: int) -> None:
        """Warn of a tile that was not waited for, and let it come if it will."""
        part, kernel, index = self._part, self.kernel, tile - self.read_tiles
        missing = self.waited - self.read_tiles
        kernel.warn(
            f"{call} {part} "
            + (
                f"beyond the frame, of {missing} tiles, that wait_front gave; set_frame sets its size"
                if missing > 0
                else "without wait_front before"
            )
        )
        while part.pushed <= tile and not kernel.released and not self.fills:
            kernel.block(part.waiters, f"tile {index} of {part}, which it reads without waiting", lenient=True)
        kernel.released = False

    def part_on(self, core: Core) -> PipePart:
        """The part on another core."""
        return self.run.pipe_on(self.kernel, self._part.id, core)

    def take(self, part: PipePart, base: int, offset: int, count: int) -> np.ndarray:
        """Elements from an element of the ring on, zero beyond its size."""
        size, first = part.tiles * TILE, as_signed(offset)
        if first < 0 or first + count > size:
            return self.run.take_partly(self.kernel, part, first, count, base)
        pieces = ring_pieces(base + first, count, size)
        if len(pieces) == 1:
            at = pieces[0][0]
            return part.data[at : at + count]
        return np.concatenate([part.data[at : at + n] for at, n in pieces])

    def check_target(self, part: PipePart, offset: int, count: int) -> None:
        if not self.may_write:
            self.check_use(writes=True)
        self.check_count(part.tiles * TILE, offset, count)

    def put(self, part: PipePart, base: int, offset: int, values: np.ndarray) -> None:
        """Write elements from an element of the ring on."""
        self.check_count(part.tiles * TILE, offset, len(values))
        values, done = fitting(values, part.data.dtype), 0
        for at, n in ring_pieces(base + offset, len(values), part.tiles * TILE):
            part.data[at : at + n] = values[done : done + n]
            part.forget(at, n)
            done += n
