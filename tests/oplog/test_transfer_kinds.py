"""Kinds of transfers, against a count in Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.machine import load_machine
from kernbench.oplog import transfer_kinds as module
from kernbench.oplog.transfer_kinds import LEAD, STRIPE, group_transfers
from kernbench.program.program import Program

ROW = st.tuples(
    st.integers(0, 3), st.sampled_from([0, 1, 4096, 8192]), st.integers(0, 3), st.integers(0, 3), st.booleans()
)


@pytest.mark.parametrize("column", [STRIPE, LEAD])
@given(rows=st.lists(ROW, max_size=60))
def test_transfers_are_counted_by_kind(column: int, rows: list[tuple[int, int, int, int, bool]]) -> None:
    """In a table that has to grow for more than two kinds."""
    program = Program(load_machine("tiny"))
    thread = program.thread("t")
    for route, nbytes, stripe, lead, _ in rows:
        thread.move(route, nbytes, stripe=stripe, lead=lead)
        thread.add(0)
    program.flush()
    counted = np.repeat(np.array([row[-1] for row in rows], bool), 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SLOTS", 4)
        found = group_transfers(program, counted, column)
    mine = [(row[0], row[1], row[2 if column == STRIPE else 3]) for row in rows]
    expected = Counter(kind for kind, row in zip(mine, rows, strict=True) if row[-1])
    kinds = [tuple(kind) for kind in found.kinds.tolist()]
    assert dict(zip(kinds, found.count.tolist(), strict=True)) == expected
    for number, kind, row in zip(found.which[::2].tolist(), mine, rows, strict=True):
        assert kinds[number] == kind if row[-1] else number == -1
    assert (found.which[1::2] == -1).all()
