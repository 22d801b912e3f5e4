"""Arithmetic on numbers of a group: the functions of whole numbers whose results have its form, and where they have not.

Each function returns None for operands that it leaves to the general case, in which each program is by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernbench.triton.lowering.grouped import DivergedError, Grouped, arithmetic, make_grouped


def _parts(x: Any) -> tuple[Any, Any, np.dtype] | None:
    """Base, pattern and type of a number; None for one that is not whole."""
    if isinstance(x, Grouped):
        return x.base, x.pattern, x.dtype
    array = np.asarray(x)
    if array.dtype.kind not in "iu":
        return None
    return 0, array.astype(np.int64), array.dtype


def _result_type(a: Any, b: Any) -> np.dtype:
    kinds = [one.dtype if hasattr(one, "dtype") else one for one in (a, b)]
    return np.result_type(*kinds)


def _wrapped(base: Any, pattern: np.ndarray, dtype: np.dtype) -> Any:
    found = make_grouped(base, pattern, dtype)
    if isinstance(found, Grouped) and (found.least() < np.iinfo(dtype).min or found.most() > np.iinfo(dtype).max):
        raise DivergedError(np.unique(base, return_inverse=True)[1])
    return found


def _add(a: Any, b: Any) -> Any:
    one, two = _parts(a), _parts(b)
    if one is None or two is None:
        return None
    return _wrapped(one[0] + two[0], one[1] + two[1], _result_type(a, b))


def _subtract(a: Any, b: Any) -> Any:
    one, two = _parts(a), _parts(b)
    if one is None or two is None:
        return None
    return _wrapped(one[0] - two[0], one[1] - two[1], _result_type(a, b))


def _multiply(a: Any, b: Any) -> Any:
    one, two = _parts(a), _parts(b)
    if one is None or two is None:
        return None
    if isinstance(a, Grouped) and isinstance(b, Grouped):
        if not (a.is_number and b.is_number):
            return None
        product = (a.base + a.pattern.reshape(-1)[0]) * (b.base + b.pattern.reshape(-1)[0])
        return _wrapped(product, np.zeros(np.broadcast_shapes(a.shape, b.shape), np.int64), _result_type(a, b))
    grouped, factor = (one, two[1]) if isinstance(a, Grouped) else (two, one[1])
    if factor.size != 1 and not (factor == factor.reshape(-1)[0]).all():
        return None
    number = int(factor.reshape(-1)[0])
    pattern = np.broadcast_to(grouped[1] * number, np.broadcast_shapes(grouped[1].shape, factor.shape))
    return _wrapped(grouped[0] * number, pattern, _result_type(a, b))


def _divided(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Base, pattern, int64[program] divisor and remainder of the base: of a block of programs and a number above 0."""
    if not isinstance(a, Grouped) or a.is_number:
        return None
    if isinstance(b, Grouped):
        if not b.is_number:
            return None
        divisor = b.base + b.pattern.reshape(-1)[0]
    else:
        array = np.asarray(b)
        if array.dtype.kind not in "iu" or not (array == array.reshape(-1)[0]).all():
            return None
        divisor = np.full_like(a.base, array.reshape(-1)[0])
    if (divisor <= 0).any():
        return None
    low = a.pattern.min()
    return a.base + low, a.pattern - low, divisor, (a.base + low) % divisor


def _remainder(a: Any, b: Any) -> Any:
    found = _divided(a, b)
    if found is None:
        return None
    _, pattern, divisor, rest = found
    stays = rest + pattern.max() < divisor
    if stays.all():
        return make_grouped(rest, pattern, _result_type(a, b))
    if len({*zip(rest.tolist(), divisor.tolist(), strict=True)}) == 1:
        return ((pattern + rest[0]) % divisor[0]).astype(_result_type(a, b))
    raise DivergedError(np.where(stays, -1, rest))


def _floor_divide(a: Any, b: Any) -> Any:
    found = _divided(a, b)
    if found is None:
        return None
    base, pattern, divisor, rest = found
    quotient, stays = base // divisor, rest + pattern.max() < divisor
    if stays.all():
        return make_grouped(quotient, np.zeros_like(pattern), _result_type(a, b))
    if len({*zip(rest.tolist(), divisor.tolist(), strict=True)}) == 1:
        return make_grouped(quotient, (pattern + rest[0]) // divisor[0], _result_type(a, b))
    raise DivergedError(np.where(stays, -1, rest))


def _comparison(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def compare(a: Any, b: Any) -> Any:
        one, two = _parts(a), _parts(b)
        if one is None or two is None:
            return None
        base, pattern = np.asarray(one[0] - two[0]), one[1] - two[1]
        low, high = int(pattern.min()), int(pattern.max())
        base = np.clip(base, -high - 1, -low + 1)  # beyond these the result is the same everywhere
        if (base == base.reshape(-1)[0]).all():
            return ufunc(pattern + base.reshape(-1)[0], 0)
        raise DivergedError(base)

    return compare


def _extreme(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """The smaller or the larger, where one of two is so for all elements of all programs."""
    picks_first = np.less_equal if ufunc is np.minimum else np.greater_equal

    def pick(a: Any, b: Any) -> Any:
        if np.size(a) == np.size(b) == 1 or _parts(a) is None or _parts(b) is None:
            return None
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
        first = np.asarray(picks_first(a, b))
        if first.all():
            return np.broadcast_to(a, shape)
        return np.broadcast_to(b, shape) if not first.any() else None

    return pick


def _absolute(a: Any) -> Any:
    return a if isinstance(a, Grouped) and a.least() >= 0 else None


def _negative(a: Any) -> Any:
    return _multiply(a, np.asarray(-1, a.dtype)) if a.dtype.kind == "i" else None


arithmetic.update(
    {
        np.add: _add,
        np.subtract: _subtract,
        np.multiply: _multiply,
        np.remainder: _remainder,
        np.fmod: lambda a, b: _remainder(a, b) if isinstance(a, Grouped) and a.least() >= 0 else None,
        np.floor_divide: _floor_divide,
        np.absolute: _absolute,
        np.negative: _negative,
        np.positive: lambda a: a,
        np.minimum: _extreme(np.minimum),
        np.maximum: _extreme(np.maximum),
        **{
            ufunc: _comparison(ufunc)
            for ufunc in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
        },
    }
)
