"""Compare a result with its reference, to the precision of its dtype.

|got - expected| <= tolerance * max(1, |expected|), with a tolerance a few times the rounding of the dtype, so that the
order of a sum does not matter; integers must be equal. nan equals nan and inf equals inf of the same sign.

A difference is given in units of the dtype too: the distance of its neighbours at max(1, |expected|). A few roundings on the
way to a float, or one to a whole number, explain no more than `ROUNDINGS` units.
"""

from __future__ import annotations

import numpy as np

from kernbench.dtypes import canonical, is_float, numpy_dtype
from kernbench.errors import InputError

TOLERANCE = {"f32": 1e-4, "f16": 2e-3, "bf16": 1.6e-2, "f8e4m3": 0.13, "f8e5m2": 0.26}


ROUNDINGS = 8


def find_mismatch(
    name: str, dtype: str, got: np.ndarray, expected: np.ndarray, tolerance: float | None = None
) -> str | None:
    """One sentence about the first element that differs, or None if none does.

    Errors: InputError when the shapes differ, and for elements that are not numbers.
    """
    if got.shape != expected.shape:
        raise InputError(
            f"the reference of tensor {name!r} has shape {tuple(expected.shape)}, the tensor has {tuple(got.shape)}; "
            "give a reference of the tensor's shape"
        )
    limit = TOLERANCE.get(canonical(dtype), 0.0) if tolerance is None else tolerance
    try:
        a, b = got.astype(np.float64), np.asarray(expected).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the reference of tensor {name!r} has elements that are no numbers: {error}") from None
    with np.errstate(invalid="ignore"):
        near = np.isfinite(b) & (np.abs(a - b) <= limit * np.maximum(1, np.abs(b)))
    close = near | (a == b) | (np.isnan(a) & np.isnan(b))
    if close.all():
        return None
    index = np.unravel_index(int(np.argmin(close)), close.shape)
    where = ", ".join(str(int(i)) for i in index)
    return (
        f"tensor {name!r} at [{where}]: expected {b[index]:.6g}, got {a[index]:.6g}; tolerance {limit:g} x max(1, |expected|); "
        f"{int(close.size - close.sum())} of {close.size} elements differ{_tell_size(dtype, a[~close], b[~close])}"
    )


def _tell_size(dtype: str, got: np.ndarray, expected: np.ndarray) -> str:
    """How much numbers differ at most, and whether rounding explains it."""
    if not (np.isfinite(got).all() and np.isfinite(expected).all()):
        return ", some by inf or nan"
    if is_float(dtype):
        one = np.ones((), numpy_dtype(dtype))
        step = float(np.nextafter(one, one + one)) - 1
        unit, most = np.ldexp(step, np.frexp(np.maximum(1, np.abs(expected)))[1] - 1), ROUNDINGS
    else:
        unit, most = 1, 1
    size = float(np.max(np.abs(got - expected) / unit))
    why = "rounding may explain it" if size <= most else "more than rounding explains"
    units = "unit" if size == 1 else "units"
    return f" by at most {size:.3g} {units} of {canonical(dtype)}, {why}"
