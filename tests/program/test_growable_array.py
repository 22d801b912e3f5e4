from __future__ import annotations

import numpy as np

from kernbench.program.growable_array import GrowableArray


def test_rows_are_what_was_appended():
    column = GrowableArray()
    assert column.append([1, 2]) == 0
    column.extend(3, 7)
    assert column.append(np.arange(1000)) == 5
    assert column.n == 1005
    assert column.rows.tolist() == [1, 2, 7, 7, 7, *range(1000)]
    assert column.rows.dtype == np.int64
