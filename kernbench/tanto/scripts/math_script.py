"""The script of a kernel that computes: its log has the steps of `kernbench.tanto.timing.math_step`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernbench.tanto.cores.local_end import LocalEnd
from kernbench.tanto.cores.math_unit import forward
from kernbench.tanto.cores.pipe_end import PipeEnd
from kernbench.tanto.formats import find_format
from kernbench.tanto.language.methods import BINARIES, PACKS, REDUCTIONS, SCALED, UNARIES
from kernbench.tanto.scripts.script import Script, ScriptPipe, Unscripted
from kernbench.tanto.tiles import TILE
from kernbench.tanto.timing.math_step import STEP_WIDTH, Step
from kernbench.tanto.timing.source_registers import SourceRegisters

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.storage import PipePart

_BEGIN, _END, _MATRIX, _VECTOR, _PACK, _ROOM, _PUSH, _DATA, _POP, _, _FINISH = map(int, Step)


class MathScript(Script):
    """The script of a math kernel. Counters and jobs in its log are those of the kernel that was asked."""

    width = STEP_WIDTH

    def __init__(self, kernel: RunningKernel) -> None:
        super().__init__(kernel)
        self.rows = kernel.compute
        self.alive_math: ScriptMath | None = None
        self.sources = SourceRegisters()

    def end_of(self, given: Any) -> Any:
        if isinstance(given, LocalEnd):
            raise Unscripted
        return MathPipe(self, given.part) if isinstance(given, PipeEnd) else given

    def add(self, step: int, first: int = 0, second: int = 0) -> None:
        """Add a step."""
        self.log += (step, self.c, self.line, first, second)

    def finish(self) -> None:
        self.add(_FINISH)

    # Functions of the language

    def matrix(self, name: str, size: int) -> None:
        """Unpack `size` bytes of operands, and compute with the matrix unit."""
        rows = self.rows
        self.add(_MATRIX, rows.job("matrix", name, size), rows.job("unpack", "unpack", size))

    def vector(self, name: str) -> None:
        """Compute with the vector unit on a slot."""
        self.add(_VECTOR, self.rows.job("vector", name, 0))

    def pack(self, size: int) -> None:
        """Pack a slot to a tile of `size` bytes."""
        self.add(_PACK, self.rows.job("pack", "pack", size))

    def begin_math(self, element: str) -> ScriptMath:
        """A new math object. Errors: Unscripted while another is alive."""
        if self.alive_math is not None:
            raise Unscripted
        self.add(_BEGIN)
        slots = max(1, self.run.destination_bytes // (TILE * find_format(element).storage.itemsize))
        self.alive_math = ScriptMath(self, slots)
        return self.alive_math

    def end_math(self, math: ScriptMath) -> None:  # noqa: ARG002
        """The end of the scope of a math object."""
        self.add(_END)
        self.alive_math = None

    def tilize_block(self, src: MathPipe, block: int, dst: MathPipe) -> None:
        """Bring tiles into another order."""
        fits = self.alive_math is None and block <= src.tiles and dst.written_tiles + dst.packed + block <= dst.reserved
        if not (fits and src.may_read and dst.may_write and (not block or src.read_tiles + block <= src.waited)):
            raise Unscripted
        self.add(_BEGIN)
        for _ in range(block):
            self.matrix("copy", self.sources.take(src.fmt))
            self.pack(dst.part.tile_bytes)
        self.add(_END)
        dst.packed += block

    untilize_block = tilize_block


class MathPipe(ScriptPipe):
    """A pipe in the script of a math kernel."""

    def __init__(self, script: MathScript, part: PipePart) -> None:
        super().__init__(script, part)
        self.add = script.add
        self.pushed, self.popped = part.counters

    def add_wait_for_room(self, popped: int) -> None:
        self.add(_ROOM, self.popped, popped)

    def add_push(self) -> None:
        self.script.check(self.packed > 0 or len(self.part.twins) > 1)
        self.add(_PUSH, self.pushed, self.frame)

    def add_wait_for_tiles(self, pushed: int) -> None:
        self.add(_DATA, self.pushed, pushed)

    def add_pop(self) -> None:
        self.add(_POP, self.popped, self.frame)

    def set(self, index: int, value: int | float) -> None:  # noqa: ARG002
        """Errors: Unscripted; math kernels seldom set elements."""
        raise Unscripted

    def check_tile(self, index: int) -> None:
        """Check that a tile of the read frame is there. Errors: Unscripted."""
        if index >= self.tiles or self.read_tiles + index >= self.waited:
            raise Unscripted


class ScriptMath:
    """A math object in a script."""

    def __init__(self, script: MathScript, slots: int) -> None:
        self.script, self.slots = script, slots

    def _check(self, slot: int) -> None:
        if slot >= self.slots:
            raise Unscripted

    def copy(self, pipe: MathPipe, source: int, slot: int) -> None:
        """A tile to a slot."""
        self._check(slot)
        pipe.check_tile(source)
        self.script.matrix("copy", self.script.sources.take(pipe.fmt))

    def transpose(self, pipe: MathPipe, source: int, slot: int) -> None:
        """A transposed tile to a slot."""
        self._check(slot)
        pipe.check_tile(source)
        self.script.matrix("transpose", self.script.sources.take(pipe.fmt))

    def matmul(self, a: MathPipe, b: MathPipe, ia: int, ib: int, slot: int, transpose: bool) -> None:  # noqa: ARG002
        """Add a product of tiles to a slot."""
        self._check(slot)
        a.check_tile(ia)
        b.check_tile(ib)
        size = self.script.sources.multiply(
            (a.part.id, a.read_tiles + ia), a.part.tile_bytes, (b.part.id, b.read_tiles + ib), b.part.tile_bytes
        )
        self.script.matrix("matmul", size)

    def of_two(self, name: str, a: MathPipe, b: MathPipe, ia: int, ib: int, slot: int) -> None:
        """Compute with two tiles into a slot."""
        self._check(slot)
        a.check_tile(ia)
        b.check_tile(ib)
        self.script.matrix(name, self.script.sources.take(a.fmt, b.fmt))

    def of_slot(self, name: str, slot: int, *operand: int) -> None:  # noqa: ARG002
        """A function of a slot, in place."""
        self._check(slot + 1 if name == "max" else slot)
        self.script.vector(name)

    def pack_tile(self, slot: int, pipe: MathPipe) -> None:
        """Pack a tile, or a part of it."""
        self._check(slot)
        if pipe.written_tiles + pipe.packed >= pipe.reserved or (pipe.packed == 0 and not pipe.may_write):
            raise Unscripted
        pipe.packed += 1
        self.script.pack(pipe.part.tile_bytes)


def _add_methods() -> None:
    """The methods that differ in name alone."""
    for name in BINARIES:
        setattr(ScriptMath, name, forward("of_two", name.partition("_bcast_")[0]))
    for name in REDUCTIONS:
        setattr(ScriptMath, name, forward("of_two", "reduce"))
    for name in (*UNARIES, *SCALED):
        setattr(ScriptMath, f"u_{name}", forward("of_slot", name))
    for name in PACKS:
        setattr(ScriptMath, name, forward("pack_tile"))


_add_methods()
