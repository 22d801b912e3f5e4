"""The steps of a math kernel, which `math_rows` notes and `math_lowering` makes rows of."""

from __future__ import annotations

from enum import IntEnum


class Step(IntEnum):
    """What a step is; its two values follow."""

    BEGIN = 0  # a math object
    END = 1
    MATRIX = 2  # job of the matrix unit, job of the unpacker
    VECTOR = 3  # job of the vector unit
    PACK = 4  # job of the packer
    ROOM = 5  # counter, value that it reaches
    PUSH = 6  # counter, tiles
    DATA = 7  # counter, value that it reaches
    POP = 8  # counter, tiles
    LOAD = 9
    FINISH = 10


STEP_WIDTH = 5  # numbers of a step: what it is, operations of the processor so far, line, two values
