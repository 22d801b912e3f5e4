"""The service time of a flit in Python against that of the compiled loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernbench.machine.network.flit_service import service_fs
from kernels_jit.flits.closed_form import part_fs

SIZES = st.integers(1, 1 << 20)
FLITS = st.tuples(SIZES, SIZES, st.integers(1, 1 << 50))  # bytes, quantum, fs of a full one


@given(st.lists(FLITS, min_size=1), SIZES)
def test_python_and_the_compiled_loop_agree(flits, flit_bytes):
    nbytes, quantum, full_fs = np.array(flits, np.int64).T
    expected = [part_fs(b, q, full, flit_bytes) for b, q, full in flits]
    assert service_fs(nbytes, quantum, full_fs, flit_bytes).tolist() == expected
    assert [int(service_fs(*flit, flit_bytes)) for flit in flits] == expected


@given(SIZES, SIZES, st.integers(1, 1 << 50), SIZES)
def test_a_partial_flit_is_served_no_longer_than_a_full_one(nbytes, quantum, full_fs, flit_bytes):
    exact = -(-min(-(-nbytes // quantum) * quantum, flit_bytes) * full_fs // flit_bytes)
    assert int(service_fs(nbytes, quantum, full_fs, flit_bytes)) == exact <= full_fs


def test_by_hand():
    assert service_fs(64, 1, 1000, 256) == 250
    assert service_fs(65, 64, 1000, 256) == 500
    assert service_fs(1, 1, 1000, 256) == 4
    assert service_fs(256, 64, 1000, 256) == 1000
    assert service_fs(1, 128, 1000, 32) == 1000  # a burst of four flits
    assert service_fs(65, 48, 1000, 128) == 750
    assert service_fs(97, 48, 1000, 128) == 1000
    slowest_fs = 1_048_576 * 10**9  # 1 MiB at 0.001 GB/s: their product is 2^70
    assert service_fs(1_048_575, 1, slowest_fs, 1_048_576) == 1_048_575 * 10**9
