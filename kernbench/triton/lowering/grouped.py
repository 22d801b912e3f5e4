"""Numbers of a group of programs at once: a number of each program, plus a pattern that all share.

Most numbers of a kernel before its loads have this form: `pid * BLOCK + tl.arange(0, BLOCK)` is the number `pid * BLOCK` of
each program and one pattern. So the programs of a grid are run together. Where a result has not the form for all of them (a
mask at the edge of a tensor, a branch that some take), the group *diverges*: it is divided by a key and each part is run by
itself.
Programs of equal key have results of the form, at the latest when a part has one value.

`Grouped` is an array to numpy (NEP 13 and 18), so the language need not know of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

Plain = np.ndarray | np.generic | int | float | bool


class DivergedError(Exception):
    """Programs of a group differ; `key`, int64[program], is equal for those that go on together."""

    def __init__(self, key: np.ndarray) -> None:
        super().__init__("programs differ")
        self.key = key


class Grouped(NDArrayOperatorsMixin):
    """`base[program] + pattern` of whole numbers: int64[program], and an array of the shape of the block."""

    __slots__ = ("base", "dtype", "pattern")
    __array_priority__ = 1000

    def __init__(self, base: np.ndarray, pattern: np.ndarray, dtype: np.dtype) -> None:
        self.base, self.pattern, self.dtype = base, pattern, dtype

    # What numpy asks of an array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the block; () of a scalar."""
        return self.pattern.shape

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return self.pattern.ndim

    @property
    def size(self) -> int:
        """The number of its elements."""
        return self.pattern.size

    @property
    def T(self) -> Grouped:
        """Its transpose."""
        return self._like(self.pattern.T)

    def astype(self, dtype: Any, **_: Any) -> Any:
        """The same numbers in another type: of whole numbers that hold them as they are; else programs part."""
        kind = np.dtype(dtype)
        if kind.kind in "iu":
            least, most = np.iinfo(kind).min, np.iinfo(kind).max
            if self._least() >= least and self._most() <= most:
                return Grouped(self.base, self.pattern, kind)
        return self._apply(lambda x: x.astype(kind))

    def reshape(self, *shape: Any, **options: Any) -> Grouped:
        """As numpy's."""
        return self._like(self.pattern.reshape(*shape, **options))

    def transpose(self, *axes: Any) -> Grouped:
        """As numpy's."""
        return self._like(self.pattern.transpose(*axes))

    def swapaxes(self, first: int, second: int) -> Grouped:
        """As numpy's."""
        return self._like(self.pattern.swapaxes(first, second))

    def ravel(self, *_: Any) -> Grouped:
        """As numpy's."""
        return self._like(self.pattern.ravel())

    flatten = ravel

    def copy(self, *_: Any) -> Grouped:
        """Itself: it is not written to."""
        return self

    def squeeze(self, *axis: Any) -> Grouped:
        """As numpy's."""
        return self._like(self.pattern.squeeze(*axis))

    def __getitem__(self, key: Any) -> Grouped:
        return self._like(np.asarray(self.pattern[key]))

    def __len__(self) -> int:
        return len(self.pattern)

    def item(self) -> Any:
        """The number of a scalar, if it is the same for all programs; else they part."""
        return self.only().item()

    def __bool__(self) -> bool:
        return bool(self.only())

    def __int__(self) -> int:
        return int(self.only())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.only())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.only()
        return found if dtype is None else found.astype(dtype, copy=bool(copy))

    def only(self) -> np.ndarray:
        """The block, if it is the same for all programs; else they part."""
        if not (self.base == self.base[0]).all():
            raise DivergedError(self.base)
        return (self.pattern + self.base[0]).astype(self.dtype)

    # Arithmetic

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        from kernbench.triton.lowering.block_array import BlockArray

        if any(isinstance(one, BlockArray) for one in inputs):
            return NotImplemented
        if method != "__call__" or options.get("out") is not None:
            return _separate(lambda *given: getattr(ufunc, method)(*given, **options), inputs)
        options.pop("casting", None)
        dtype = options.get("dtype")
        special = _SPECIAL.get(ufunc)
        found = special(*inputs) if special is not None else None
        if found is None:
            return _separate(lambda *given: ufunc(*given, **options), inputs)
        return found.astype(dtype) if dtype is not None and isinstance(found, Grouped) else found

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.broadcast_to, np.reshape, np.expand_dims, np.swapaxes, np.transpose, np.squeeze, np.ravel):
            return self._like(function(self.pattern, *args[1:], **kwargs))
        if function in (np.shape, np.ndim, np.size):
            return function(self.pattern)
        if function is np.where and len(args) == 3 and isinstance(args[0], (np.ndarray, np.generic, bool)):
            condition = np.asarray(args[0])
            if condition.all():
                return np.broadcast_to(
                    args[1], np.broadcast_shapes(condition.shape, np.shape(args[1]), np.shape(args[2]))
                )
            if not condition.any():
                return np.broadcast_to(
                    args[2], np.broadcast_shapes(condition.shape, np.shape(args[1]), np.shape(args[2]))
                )
        flat: list[Any] = []
        return _separate(lambda *given: function(*_refill(args, given, flat), **kwargs), _grouped_in(args))

    def _like(self, pattern: np.ndarray) -> Grouped:
        return Grouped(self.base, pattern, self.dtype)

    def _least(self) -> int:
        return int(self.base.min()) + int(self.pattern.min())

    def _most(self) -> int:
        return int(self.base.max()) + int(self.pattern.max())

    @property
    def is_number(self) -> bool:
        """Whether all elements of a program's block are equal."""
        return self.pattern.size == 1

    def _apply(self, function: Callable[[np.ndarray], np.ndarray]) -> Any:
        return _separate(function, (self,))


def make_grouped(base: np.ndarray, pattern: np.ndarray, dtype: np.dtype) -> Any:
    """The numbers of a group: a plain array where all programs have the same."""
    if (base == base[0]).all():
        return np.asarray(pattern + base[0]).astype(dtype)
    return Grouped(base, pattern, dtype)


def _refill(args: Any, given: tuple[Any, ...], _: list[Any]) -> list[Any]:
    rest = iter(given)
    return [next(rest) if isinstance(one, Grouped) else one for one in args]


def _grouped_in(args: Any) -> tuple[Any, ...]:
    return tuple(one for one in args if isinstance(one, Grouped))


def _separate(function: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    """A function of the numbers of each program by itself: possible for scalars, and where all have the same block."""
    grouped = [one for one in inputs if isinstance(one, Grouped)]
    if all(np.size(one) == 1 for one in inputs):
        columns = [
            (one.base + one.pattern.reshape(-1)[0]).astype(one.dtype)
            if isinstance(one, Grouped)
            else np.asarray(one).reshape(-1)
            for one in inputs
        ]
        found = np.asarray(function(*columns))
        shape = np.broadcast_shapes(*(np.shape(one) for one in inputs))
        if found.dtype.kind in "iu" or found.dtype.kind == "b":
            if (found == found[0]).all():
                return np.full(shape, found[0])
            if found.dtype.kind != "b":
                return Grouped(found.astype(np.int64), np.zeros(shape, np.int64), found.dtype)
        raise DivergedError(np.unique(found, return_inverse=True)[1])
    if all((one.base == one.base[0]).all() for one in grouped):
        return function(*(one.only() if isinstance(one, Grouped) else one for one in inputs))
    keys = np.stack([one.base for one in grouped], axis=1)
    raise DivergedError(np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1))


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
    if isinstance(found, Grouped) and (found._least() < np.iinfo(dtype).min or found._most() > np.iinfo(dtype).max):
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
    return a if isinstance(a, Grouped) and a._least() >= 0 else None


def _negative(a: Any) -> Any:
    return _multiply(a, np.asarray(-1, a.dtype)) if a.dtype.kind == "i" else None


_SPECIAL: dict[np.ufunc, Callable[..., Any]] = {
    np.add: _add,
    np.subtract: _subtract,
    np.multiply: _multiply,
    np.remainder: _remainder,
    np.fmod: _remainder,
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
