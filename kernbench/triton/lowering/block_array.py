"""A block in scratch as an array: its shape, its type, its place, and its numbers if they are known.

`BlockArray` is an array to numpy (NEP 13 and 18): a function of it is work of the PE's engines and gives another block. While
programs are recorded no numbers are known, and shapes and types are those that numpy finds for zeros. Who asks for unknown
numbers (a branch, an address) ends the recording: such kernels run live, with their numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

if TYPE_CHECKING:
    from kernbench.triton.lowering.issue import Block
    from kernbench.triton.lowering.recorder import Recorder


class ReadsDataError(Exception):
    """A program reads numbers that are not known before it runs."""


_VIEWS = {
    np.broadcast_to,
    np.reshape,
    np.expand_dims,
    np.swapaxes,
    np.transpose,
    np.squeeze,
    np.ravel,
    np.moveaxis,
    np.copy,
    np.ascontiguousarray,
}
_PLAIN = {np.shape, np.ndim, np.size, np.result_type, np.iscomplexobj}


class BlockArray(NDArrayOperatorsMixin):
    """`block` is its place in scratch, None for a scalar in a register of the control CPU; `data` its numbers, if known."""

    __slots__ = ("_recorder", "block", "data", "dtype", "shape")
    __array_priority__ = 2000

    def __init__(
        self, recorder: Recorder, shape: tuple[int, ...], dtype: np.dtype, block: Block | None, data: np.ndarray | None
    ) -> None:
        self._recorder, self.shape, self.dtype, self.block, self.data = recorder, shape, np.dtype(dtype), block, data

    # What numpy asks of an array

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all of them."""
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> BlockArray:
        """Its transpose."""
        return self.seen(lambda x: x.T)

    def seen(self, view: Callable[[np.ndarray], np.ndarray]) -> BlockArray:
        """The same block, seen otherwise; `view` gives its numbers then."""
        found = view(self.zeros() if self.data is None else self.data)
        return BlockArray(self._recorder, found.shape, found.dtype, self.block, None if self.data is None else found)

    def zeros(self) -> np.ndarray:
        """Zeros of its shape and type, without room."""
        return zeros_of(self.shape, self.dtype)

    def astype(self, dtype: Any, **_: Any) -> BlockArray:
        """Another type, into which the engine converts as it reads or writes."""
        return self.seen(lambda x: x.astype(dtype) if self.data is not None else zeros_of(x.shape, np.dtype(dtype)))

    def view(self, dtype: Any = None) -> BlockArray:
        """As numpy's."""
        return self.seen(lambda x: x.copy().view(dtype))

    def reshape(self, *shape: Any, **options: Any) -> BlockArray:
        """As numpy's."""
        return self.seen(lambda x: x.reshape(*shape, **options))

    def transpose(self, *axes: Any) -> BlockArray:
        """As numpy's."""
        return self.seen(lambda x: x.transpose(*axes))

    def swapaxes(self, first: int, second: int) -> BlockArray:
        """As numpy's."""
        return self.seen(lambda x: x.swapaxes(first, second))

    def squeeze(self, *axis: Any) -> BlockArray:
        """As numpy's."""
        return self.seen(lambda x: x.squeeze(*axis))

    def ravel(self, *_: Any) -> BlockArray:
        """As numpy's."""
        return self.seen(np.ravel)

    flatten = ravel

    def copy(self, *_: Any) -> BlockArray:
        """Itself: it is not written to."""
        return self

    def __getitem__(self, key: Any) -> BlockArray:
        return self.seen(lambda x: np.asarray(x[key]))

    def __len__(self) -> int:
        return self.shape[0]

    def numbers(self) -> np.ndarray:
        """The numbers, for which the control CPU waits. Errors: ReadsDataError if they are unknown."""
        self._recorder.reach(self)
        assert self.data is not None
        return self.data

    def item(self) -> Any:
        """The number of a scalar."""
        return self.numbers().item()

    def __bool__(self) -> bool:
        return bool(self.numbers())

    def __int__(self) -> int:
        return int(self.numbers())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.numbers())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = np.asarray(self.numbers())
        return found if dtype is None else found.astype(dtype, copy=bool(copy))

    # Work

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        options.pop("out", None)
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}_{method}"
        return self._recorder.apply(name, function, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.shape:
            return self.shape
        if function in _PLAIN:
            return function(*_zeros(args), **kwargs)
        if function in _VIEWS:
            return self.seen(lambda x: function(x, *args[1:], **kwargs))
        return self._recorder.apply(function.__name__, function, args, kwargs)

    def apply(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """A function of arrays of numpy as one operation on blocks."""
        return self._recorder.apply(name, function, args, {})

    def sum(self, axis: Any = None, **options: Any) -> Any:
        """As numpy's."""
        return self._along("sum", axis, options)

    def max(self, axis: Any = None, **options: Any) -> Any:
        """As numpy's."""
        return self._along("max", axis, options)

    def min(self, axis: Any = None, **options: Any) -> Any:
        """As numpy's."""
        return self._along("min", axis, options)

    def _along(self, name: str, axis: Any, options: dict[str, Any]) -> Any:
        function: Callable[..., Any] = getattr(np, name)
        return self._recorder.apply(name, function, (self,), {"axis": axis, **options})


@lru_cache(maxsize=1024)
def zeros_of(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros of a shape and a type, without room."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def _zeros(args: Any) -> Any:
    """Arguments with zeros in place of unknown numbers."""
    if isinstance(args, BlockArray):
        return args.zeros()
    if isinstance(args, (tuple, list)):
        return type(args)(_zeros(one) for one in args)
    return args


as_zeros = _zeros
