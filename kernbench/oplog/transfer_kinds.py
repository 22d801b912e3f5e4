"""Transfers of a program by kind: route, bytes and one operand more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.program.encoded_rows import EncodedRows
from kernbench.program.ops import NONE

if TYPE_CHECKING:
    from kernbench.program.program import Program

STRIPE, LEAD = 3, 7  # columns of the op table

_SLOTS = 1 << 12


class TransferKinds(NamedTuple):
    """Distinct transfers, in no certain order."""

    kinds: np.ndarray  # int64[kind, 3] route, bytes and the operand
    count: np.ndarray  # int64[kind]  # pyright: ignore[reportIncompatibleMethodOverride]
    which: EncodedRows  # int32[row] the kind of each transfer, else NONE; of a row that does not count it may be either


def group_transfers(program: Program, counted: np.ndarray, column: int) -> TransferKinds:
    """The kinds of the transfers among some rows, bool[row]; `column` is STRIPE or LEAD."""
    from kernels_jit.measure import transfer_kinds as compiled

    op, slots = program.op, _SLOTS
    rows, of = op.counts(counted), np.empty(len(op.values), np.int32)
    while True:
        kinds, count = np.empty((slots, 3), np.int64), np.zeros(slots, np.int64)
        if compiled.group_transfers(op.values, rows, column, kinds, count, of) != compiled.FULL:
            break
        slots *= 8
    used = np.flatnonzero(count)
    number = np.full(slots + 1, NONE, np.int32)  # by slot; the last, which NONE reads, is no kind
    number[used] = np.arange(len(used))
    return TransferKinds(kinds[used], count[used], EncodedRows(number[of], op.entry))
