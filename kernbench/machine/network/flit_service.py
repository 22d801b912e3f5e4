"""Service time of a flit: a partial flit pays for its bytes, padded to the station's quantum; rounded up to a femtosecond.

It pays no more than a full one, though the quantum is larger: flits share what a memory serves at once (docs/engine.md).

The compiled loop has the same formula (`kernels_jit.flits.closed_form.part_fs`); a test compares them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Integers = Any  # an int or an int64 array; arrays are broadcast


def pad(nbytes: Integers, quantum_bytes: Integers, flit_bytes: int) -> Integers:
    """The bytes that a flit costs at a station: rounded up to the station's quantum, and no more than those of a full flit."""
    return np.minimum(-(-nbytes // quantum_bytes) * quantum_bytes, flit_bytes)


def padded_service_fs(padded_bytes: Integers, fs_per_flit: Integers, flit_bytes: int) -> Integers:
    """The service time (fs) of a flit of the bytes that `pad` returns, where a full flit takes `fs_per_flit`.

    The bytes times `fs_per_flit` need not fit into 64 bits, so what a byte takes is divided first.
    """
    whole, rest = fs_per_flit // flit_bytes, fs_per_flit % flit_bytes
    return padded_bytes * whole + -(-padded_bytes * rest // flit_bytes)


def service_fs(nbytes: Integers, quantum_bytes: Integers, fs_per_flit: Integers, flit_bytes: int) -> Integers:
    """The service time (fs) of a flit of `nbytes` bytes."""
    return padded_service_fs(pad(nbytes, quantum_bytes, flit_bytes), fs_per_flit, flit_bytes)
