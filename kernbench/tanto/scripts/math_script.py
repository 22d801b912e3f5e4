"""The script of a kernel that computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernbench.tanto.cores.local_end import LocalEnd
from kernbench.tanto.cores.math_unit import MathVerbs
from kernbench.tanto.cores.pipe_end import PipeEnd
from kernbench.tanto.formats import find_format
from kernbench.tanto.scripts.script import Script, ScriptPipe, Unscripted

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel


class MathScript(Script):
    """The script of a math kernel. Counters and jobs in its log are those of the kernel that was asked."""

    def __init__(self, kernel: RunningKernel) -> None:
        super().__init__(kernel)
        self.rows = kernel.compute
        self.alive_math: ScriptMath | None = None

    def end_of(self, given: Any) -> Any:
        if isinstance(given, LocalEnd):
            raise Unscripted
        return MathPipe(self, given.part) if isinstance(given, PipeEnd) else given

    def begin_math(self, element: str) -> ScriptMath:
        """A new math object. Errors: Unscripted while another is alive."""
        if self.alive_math is not None:
            raise Unscripted
        self.rows.begin()
        self.alive_math = ScriptMath(self.run, self.kernel, find_format(element))
        return self.alive_math

    def end_math(self, math: ScriptMath) -> None:  # noqa: ARG002
        """The end of the scope of a math object."""
        self.rows.end()
        self.alive_math = None

    def tilize_block(self, src: MathPipe, block: int, dst: MathPipe) -> None:
        """Bring tiles into another order."""
        fits = self.alive_math is None and block <= src.tiles and dst.written_tiles + dst.packed + block <= dst.reserved
        if not (fits and src.may_read and dst.may_write and (not block or src.read_tiles + block <= src.waited)):
            raise Unscripted
        self.rows.relayout(block, src.part.fmt, dst.part.fmt)
        dst.packed += block

    untilize_block = tilize_block


class MathPipe(ScriptPipe):
    """A pipe in the script of a math kernel."""

    def check_push(self) -> None:
        self.script.check(self.packed > 0 or len(self.part.twins) > 1)
        super().check_push()

    def set(self, index: int, value: int | float) -> None:  # noqa: ARG002
        """Errors: Unscripted; math kernels seldom set elements."""
        raise Unscripted


class ScriptMath(MathVerbs[MathPipe]):
    """A math object in a script."""

    def check(self, index: int) -> None:
        if index >= self.count:
            raise Unscripted

    def tile(self, pipe: MathPipe, index: int) -> None:
        if index >= pipe.tiles or pipe.read_tiles + index >= pipe.waited:
            raise Unscripted

    def pack_place(self, index: int, pipe: MathPipe, place: Any) -> None:  # noqa: ARG002
        self.check(index)
        if pipe.written_tiles + pipe.packed >= pipe.reserved or (pipe.packed == 0 and not pipe.may_write):
            raise Unscripted
        pipe.packed += 1
        self.rows.pack(pipe.part.tile_bytes)
