"""Service time of a flit: a partial flit pays for its bytes, padded to the station's quantum; rounded up to a femtosecond.

The compiled loop has the same formula (`kernels_jit.simulate.closed_form.part_fs`); a test compares them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Integers = Any  # an int or an int64 array; arrays are broadcast


def pad(nbytes: Integers, quantum_bytes: Integers, flit_bytes: int) -> Integers:
    """The bytes that a flit costs at a station: those of a partial flit are rounded up to the station's quantum."""
    return np.where(nbytes < flit_bytes, -(-nbytes // quantum_bytes) * quantum_bytes, flit_bytes)


def padded_service_fs(padded_bytes: Integers, fs_per_flit: Integers, flit_bytes: int) -> Integers:
    """The service time (fs) of a flit of the bytes that `pad` returns, where a full flit takes `fs_per_flit`."""
    return -(-padded_bytes * fs_per_flit // flit_bytes)


def service_fs(nbytes: Integers, quantum_bytes: Integers, fs_per_flit: Integers, flit_bytes: int) -> Integers:
    """The service time (fs) of a flit of `nbytes` bytes."""
    return padded_service_fs(pad(nbytes, quantum_bytes, flit_bytes), fs_per_flit, flit_bytes)
