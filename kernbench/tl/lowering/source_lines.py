"""The line of a kernel that calls a primitive."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import TYPE_CHECKING

from kernbench.tl.language.errors import is_own

if TYPE_CHECKING:
    from kernbench.program.program import Program

OWN = 0  # for an instruction of this package


class LineFinder:
    """The source lines of one program's kernels, by the instruction of a frame: reading a line number takes longer.

    `known`: the program's id of the line, or OWN, by the identity of a frame's code and its instruction.
    """

    def __init__(self, program: Program) -> None:
        self.known: dict[tuple[int, int], int] = {}
        self._program = program
        self._codes: list[CodeType] = []  # kept, so that identities stay theirs

    def learn(self, frame: FrameType) -> int:
        """The program's id of the line at which a frame, or the nearest caller outside this package, is."""
        at: FrameType | None = frame
        while at is not None:
            code = at.f_code
            own = is_own(code.co_filename)
            source = OWN if own else self._program.source(code.co_filename, at.f_lineno)
            self.known[id(code), at.f_lasti] = source
            self._codes.append(code)
            if not own:
                return source
            at = at.f_back
        raise AssertionError("a kernel is outside this package")
