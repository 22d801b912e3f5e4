"""Distinct transfers among entries of an op table, by a hash table in one pass."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import inner, jit
from kernels_jit.layout import codes

FULL = -1  # the table has no room


@inner
def find_slot(kinds, count, first, second, third):
    """The slot of a kind, or the empty one that it takes; the table has a power of two slots, and not all are taken."""
    mask = count.shape[0] - 1
    mixed = first * 40503 + ((second ^ (second >> 12)) & 0xFFFFFFFF) * 2654435 + third * 97
    slot = (mixed ^ (mixed >> 17)) & mask
    while count[slot] != 0 and (kinds[slot, 0] != first or kinds[slot, 1] != second or kinds[slot, 2] != third):
        slot = (slot + 1) & mask
    return slot


@jit
def group_transfers(
    op: np.ndarray, counted: np.ndarray, column: int, kinds: np.ndarray, count: np.ndarray, which: np.ndarray
) -> int:
    """Group transfers by route, bytes and the operand in a column. Returns the number of kinds, or FULL.

    Arguments: int64[entry, ROW_WIDTH], int64[entry] how many rows count, int, int64[slot, 3] that takes the kinds, int64[slot]
    zeros that take how many are of each, int32[entry] that takes the slot of each transfer that counts, or NONE.
    """
    most, found = count.shape[0] // 2, 0
    for entry in range(op.shape[0]):
        slot = codes.NONE
        if counted[entry] > 0 and op[entry, 0] == codes.MOVE:
            slot = find_slot(kinds, count, op[entry, 1], op[entry, 2], op[entry, column])
            if count[slot] == 0:
                if found == most:
                    return FULL
                found += 1
                kinds[slot, 0], kinds[slot, 1], kinds[slot, 2] = op[entry, 1], op[entry, 2], op[entry, column]
            count[slot] += counted[entry]
        which[entry] = slot
    return found
