"""Times that end with the clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels_jit.layout.records import NEVER
from kernels_jit.loop.clock import after


@pytest.mark.parametrize(
    ("fs", "count", "more_fs", "later_fs"),
    [
        (5, 3, 7, 26),
        (NEVER - 2, 1, 1, NEVER - 1),
        (NEVER - 1, 1, 1, NEVER),
        (NEVER - 1, 1, NEVER // 2, NEVER),
        (NEVER - 1, 1, NEVER, NEVER),
        (7, 4, NEVER, NEVER),  # whose product in a word is 0
    ],
)
def test_what_is_beyond_the_clock_comes_never(fs: int, count: int, more_fs: int, later_fs: int) -> None:
    plain: Any = getattr(after, "py_func", after)
    assert plain(*np.array([fs, count, more_fs], np.int64)) == later_fs
