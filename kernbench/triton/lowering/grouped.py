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

from kernbench.triton.lowering.block_array import BlockArray

# The functions of whole numbers whose results have the form, by `grouped_arithmetic`: None for operands where they have not.
arithmetic: dict[np.ufunc, Callable[..., Any]] = {}
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
            if self.least() >= least and self.most() <= most:
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
        if any(isinstance(one, BlockArray) for one in inputs):
            return NotImplemented
        if method != "__call__" or options.get("out") is not None:
            return _separate(lambda *given: getattr(ufunc, method)(*given, **options), inputs)
        options.pop("casting", None)
        dtype = options.get("dtype")
        special = arithmetic.get(ufunc)
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
            if condition.all() or not condition.any():
                shape = np.broadcast_shapes(*(np.shape(one) for one in args))
                return np.broadcast_to(args[1] if condition.all() else args[2], shape)
        return _separate(lambda *given: function(*_refill(args, given), **kwargs), _grouped_in(args))

    def _like(self, pattern: np.ndarray) -> Grouped:
        return Grouped(self.base, pattern, self.dtype)

    def least(self) -> int:
        """The least number of all programs, or less."""
        return int(self.base.min()) + int(self.pattern.min())

    def most(self) -> int:
        """The largest number of all programs, or more."""
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


def _refill(args: Any, given: tuple[Any, ...]) -> list[Any]:
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
