"""The ops of a device program: the complete list.

Keep it this small: before an op is added, try counters and moves.
"""

from __future__ import annotations

from enum import IntEnum

from kernels_jit.layout import codes, records

ROW_WIDTH = codes.ROW_WIDTH
NONE = codes.NONE
GE, EQ = codes.GE, codes.EQ
FLITS_MOST = records.FLITS_MOST  # of one transfer
LONGEST_FS = records.NEVER  # times from here on cannot be counted
CLOCK = f"{LONGEST_FS // 10**15:,} s of simulated time, the most that the clock can count"


class Op(IntEnum):
    """Opcodes of the op table; `kernels_jit.layout.codes` has the operands of each, and `OPERANDS` what these are."""

    DELAY = codes.DELAY
    EXEC = codes.EXEC
    MOVE = codes.MOVE
    UNTIL = codes.UNTIL
    ADD = codes.ADD
    WAIT = codes.WAIT
    PIPE = codes.PIPE
    MARK = codes.MARK
    ASK = codes.ASK
    ARRIVE = codes.ARRIVE


OPERANDS = {Op(code): tuple(operands.values()) for code, operands in codes.OPERANDS.items()}  # what each operand is
