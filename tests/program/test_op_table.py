"""The op table: packed rows and rows that are appended as arrays."""

from __future__ import annotations

import numpy as np

from kernbench.program.op_table import OpTable
from kernbench.program.ops import ROW_WIDTH
from kernbench.program.rows import count_rows, pack_row, pack_rows


def _row(k: int) -> tuple[int, ...]:
    return tuple(range(k, k + ROW_WIDTH))


def test_rows_come_apart_as_they_were_written():
    table = OpTable()
    assert table.write([pack_row(7, *_row(1)), pack_row(8, *_row(2)) + pack_row(-9, *_row(-(1 << 62)))], 5) == 0
    assert table.append(np.array([_row(3)] * 2), np.array([1, 2], np.int32), -1) == 3
    assert table.op.tolist() == [list(_row(k)) for k in (1, 2, -(1 << 62), 3, 3)]
    assert table.tags.tolist() == [7, 8, -9, 1, 2]
    assert table.owners.tolist() == [5, 5, 5, -1, -1]
    assert table.op.values.flags.c_contiguous


def test_what_there_is_stays_as_the_table_grows():
    table, rows = OpTable(), np.arange(300 * ROW_WIDTH).reshape(300, ROW_WIDTH)
    for part in np.split(rows, 100):
        table.write([pack_rows(part, 3)], 1)
    table.append(rows, np.zeros(300, np.int32), 2)
    assert table.n == 600
    assert (table.op == np.concatenate([rows, rows])).all()
    assert table.tags.tolist() == [3] * 300 + [0] * 300
    assert table.owners.tolist() == [1] * 300 + [2] * 300


def test_packed_rows_are_counted():
    assert count_rows(b"") == 0
    assert count_rows(pack_row(0, *_row(0)) * 3) == 3
