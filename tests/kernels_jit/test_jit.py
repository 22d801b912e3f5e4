from __future__ import annotations

import os

import numpy as np
import pytest

from kernels_jit._jit import jit


def double(values):
    total = 0
    for value in values:
        total += 2 * value
    return total


def test_a_decorated_function_gives_what_the_plain_one_gives():
    values = np.arange(5)
    assert jit(double)(values) == double(values) == 20


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_compiled_code_goes_to_the_directory_of_this_version():
    from kernels_jit import cache

    assert str(cache.key()) in jit(double).stats.cache_path  # type: ignore[attr-defined]
