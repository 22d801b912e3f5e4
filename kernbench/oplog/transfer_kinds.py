"""Transfers of a program by kind: route, bytes and one operand more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.program.ops import NONE

if TYPE_CHECKING:
    from kernbench.program.program import Program

STRIPE, LEAD = 3, 7  # columns of the op table

_SLOTS = 1 << 12
_NOTHING = np.zeros(0, np.int32)


class TransferKinds(NamedTuple):
    """Distinct transfers, in no certain order."""

    kinds: np.ndarray  # int64[kind, 3] route, bytes and the operand
    count: np.ndarray  # int64[kind]
    which: np.ndarray  # int32[row] the kind of each counted transfer, else NONE; empty if it was not asked for


def group_transfers(program: Program, counted: np.ndarray, column: int, *, which: bool = False) -> TransferKinds:
    """The kinds of the transfers among some rows, bool[row]; `column` is STRIPE or LEAD."""
    from kernels_jit.measure import transfer_kinds as compiled

    slots, of = _SLOTS, np.empty(program.row_count, np.int32) if which else _NOTHING
    while True:
        kinds, count = np.empty((slots, 3), np.int64), np.zeros(slots, np.int64)
        if compiled.group_transfers(program.op, counted, column, kinds, count, of) != compiled.FULL:
            break
        slots *= 8
    used = np.flatnonzero(count)
    number = np.full(slots + 1, NONE, np.int32)  # by slot; the last, which NONE reads, is no kind
    number[used] = np.arange(len(used))
    return TransferKinds(kinds[used], count[used], number[of] if which else _NOTHING)
