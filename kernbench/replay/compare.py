"""Compare a result with its reference, to the precision of its dtype.

|got - expected| <= tolerance * max(1, |expected|), with a tolerance a few times the rounding of the dtype, so that the
order of a sum does not matter; integers must be equal. nan equals nan and inf equals inf of the same sign.
"""

from __future__ import annotations

import numpy as np

from kernbench.dtypes import canonical
from kernbench.errors import InputError

TOLERANCE = {"f32": 1e-4, "f16": 2e-3, "bf16": 1.6e-2, "f8e4m3": 0.13, "f8e5m2": 0.26}


def find_mismatch(
    name: str, dtype: str, got: np.ndarray, expected: np.ndarray, tolerance: float | None = None
) -> str | None:
    """One sentence about the first element that differs, or None if none does.

    Errors: InputError when the shapes differ.
    """
    if got.shape != expected.shape:
        raise InputError(
            f"the reference of tensor {name!r} has shape {tuple(expected.shape)}, the tensor has {tuple(got.shape)}; "
            "give a reference of the tensor's shape"
        )
    limit = TOLERANCE.get(canonical(dtype), 0.0) if tolerance is None else tolerance
    a, b = got.astype(np.float64), np.asarray(expected).astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.isfinite(b) & (np.abs(a - b) <= limit * np.maximum(1, np.abs(b)))
    close = near | (a == b) | (np.isnan(a) & np.isnan(b))
    if close.all():
        return None
    index = np.unravel_index(int(np.argmin(close)), close.shape)
    where = ", ".join(str(int(i)) for i in index)
    return (
        f"tensor {name!r} at [{where}]: expected {b[index]:.6g}, got {a[index]:.6g}; tolerance {limit:g} x max(1, |expected|); "
        f"{int(close.size - close.sum())} of {close.size} elements differ"
    )
