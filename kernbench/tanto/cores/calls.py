"""A running kernel with the global functions of the language, which its translated module calls on `K`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernbench.tanto.cores.kernel import CoreKernel
from kernbench.tanto.cores.math_unit import MathObject
from kernbench.tanto.cores.pipe_end import PipeEnd
from kernbench.tanto.cores.polling import Poll
from kernbench.tanto.formats import find_format
from kernbench.tanto.tiles import SIDE, TILE, tilize, untilize
from kernbench.tanto.timing.dataflow_rows import DataflowRows
from kernbench.tanto.timing.math_rows import MathRows

if TYPE_CHECKING:
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.cores.storage import Core, LocalPart
    from kernbench.tanto.language.scope import Unit


@dataclass(frozen=True, slots=True)
class Alone:
    """What a kernel needs to run by itself: its function for a given `K`, its arguments, and these as the program has them."""

    function: Callable[[object], Callable[..., None]]
    arguments: tuple[Any, ...]
    given: str


class RunningKernel(CoreKernel):
    """A kernel with its run. `alone` is None for one that cannot run by itself, in Python."""

    def __init__(self, run: GridRun, kind: int, core: Core, unit: Unit) -> None:
        super().__init__(kind, core, unit, run.scheduler)
        self.run, self.warnings = run, run.warnings
        self.rows = run.lowering.rows(core, kind)
        self.rows.follow(self)
        self.alone: Alone | None = None
        self.moves_to: object = None  # the part that has the context of moves
        self.alive_math: MathObject | None = None
        self.poll: Poll | None = None  # what it reads again and again
        self.arrivals: dict[
            LocalPart, tuple[int, int]
        ] = {}  # its writes that others look at: their counter, and how many
        self.looked: dict[tuple[LocalPart, int], int] = {}  # by element: the writes to its part before the last read
        self.awaited: dict[int, int] = {}  # by counter: the writes of others that it waited for

    @property
    def flow(self) -> DataflowRows:
        """The rows of a kernel that moves data. Errors: TantoError in a math kernel."""
        if isinstance(self.rows, DataflowRows):
            return self.rows
        raise self.error("a math kernel moves no data; only a reader or writer kernel can")

    @property
    def compute(self) -> MathRows:
        """The rows of a kernel that computes. Errors: TantoError in another."""
        if isinstance(self.rows, MathRows):
            return self.rows
        raise self.error("a dataflow kernel computes nothing; only a math kernel can")

    def core_at(self, x: int, y: int) -> Core:
        """The core at a physical place, its own for a negative x. Errors: TantoError off the chip."""
        return self.core if x < 0 else self.run.find_core(self, x, y)

    def find_cores(self, corners: tuple[int, ...], *, with_self: bool) -> tuple[Core, ...]:
        """The cores in a rectangle of physical places, whose acknowledgements are expected."""
        found = tuple(self.run.find_cores(self, corners, with_self=with_self))
        self.run.expect(self, corners[4], found)
        return found

    def begin_math(self, element: str) -> MathObject:
        """A new math object. Errors: TantoError while another is alive."""
        if self.alive_math is not None:
            raise self.error("a second math object while one is alive; end the scope of the first")
        self.compute.begin()
        made = self.alive_math = MathObject(self.run, self, find_format(element))
        return made

    def end_math(self, math: MathObject) -> None:
        """The end of the scope of a math object."""
        self.compute.end()
        math.slots = []
        self.alive_math = None

    def read_barrier(self) -> None:
        """Wait for all reads of this kernel."""
        self.reads_pending.clear()
        self.flow.read_barrier()

    def write_barrier(self) -> None:
        """Wait for all writes of this kernel; for acknowledgements that nobody sends it waits for ever."""
        self.writes_pending.clear()
        self.flow.write_barrier()
        while self.missing:
            self.pause(f"{self.missing:,} acknowledgements of a multicast that names more destinations than there are")

    def tilize_block(self, src: PipeEnd, block: int, dst: PipeEnd) -> None:
        """Rows to tiles."""
        self._relayout(src, block, dst, to_tiles=True)

    def untilize_block(self, src: PipeEnd, block: int, dst: PipeEnd) -> None:
        """Tiles to rows."""
        self._relayout(src, block, dst, to_tiles=False)

    def _relayout(self, src: PipeEnd, block: int, dst: PipeEnd, *, to_tiles: bool) -> None:
        if self.alive_math is not None:
            raise self.error("a block is tilized or untilized while a math object is alive; end its scope before")
        if block > min(src.part.tiles, dst.part.tiles - dst.packed):
            raise self.error(
                f"a block of {block} tiles from {src.part} of {src.part.tiles} to {dst.part} of {dst.part.tiles} tiles"
            )
        src.check_use(writes=False)
        dst.check_use(writes=True)
        call = "tilize_block" if to_tiles else "untilize_block"
        if block and src.read_tiles + block > src.waited:
            last = src.read_tiles + block - 1
            src.hold_back(f"{call} of", last)
            self.run.races.note_tile(self, src.part, block - 1, last, self.compute.next_unpack(after=1))
        if block:
            dst.check_room(f"{call} into", dst.packed * TILE, block * TILE)
        self.compute.relayout(block, src.part.fmt, dst.part.fmt)
        at = dst.packed * TILE
        dst.packed += block
        if not self.run.numbers or not block:
            return
        stored = src.take(src.part, src.read_base(), 0, block * TILE)
        made = tilize(stored.reshape(SIDE, -1), block) if to_tiles else untilize(stored.reshape(block, TILE), block)
        if src.part.fmt != dst.part.fmt:
            made = dst.part.fmt.from_float(src.part.fmt.to_float(made), nearest=self.run.nearest)
        dst.put(dst.part, dst.write_base(), at, made.reshape(-1))
