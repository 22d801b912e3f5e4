from __future__ import annotations

import os
import sys

import numba
import numpy as np
import pytest

from kernels_jit.compile.jit import inner_options, jit, lean_cache


def double(values):
    total = 0
    for value in values:
        total += 2 * value
    return total


def test_a_decorated_function_gives_what_the_plain_one_gives():
    values = np.arange(5)
    assert jit(double)(values) == double(values) == 20


def gather(table, rows, out):
    for k in range(rows.size):
        out[k] = table[rows[k], k % table.shape[1]]


def test_what_indices_name_is_what_they_name_in_python():
    table, rows = np.arange(12).reshape(4, 3), np.array([3, 0, 2, 1, 3])
    plain, compiled = np.zeros(5, np.int64), np.zeros(5, np.int64)
    gather(table, rows, plain)
    jit(gather)(table, rows, compiled)
    assert compiled.tolist() == plain.tolist()


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_compiled_code_goes_to_the_directory_of_this_version():
    from kernels_jit.compile import cache

    assert str(cache.key()) in jit(double).stats.cache_path  # type: ignore[attr-defined]


def test_a_numba_without_private_options_compiles_all_the_same(monkeypatch):
    assert inner_options()["no_cpython_wrapper"]
    monkeypatch.setitem(sys.modules, "numba.core.options", None)
    with pytest.warns(UserWarning, match="this numba compiles wrappers for inner functions too"):
        options = inner_options()
    assert numba.njit(**options)(double)(np.arange(5)) == 20


def test_a_numba_that_loads_in_another_way_is_left_to_it(monkeypatch):
    from numba.core import caching

    make = lean_cache.__wrapped__
    assert issubclass(make(), caching.FunctionCache)
    monkeypatch.delattr(caching.Cache, "_guard_against_spurious_io_errors")
    assert make() is None
    monkeypatch.setitem(sys.modules, "numba.core.runtime.nrt", None)
    assert make() is None
