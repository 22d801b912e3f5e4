"""Python's operators of tensors: arithmetic and comparisons are jobs of the PE, all others end in a sentence with a remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from kernbench.tl.language.current_context import active
from kernbench.tl.language.errors import PrimitiveError, fail

if TYPE_CHECKING:
    from kernbench.tl.language.handle import TensorHandle

context = cast("Callable[[], Any]", active)  # its functions check what they are given
WHOLE = (int, np.integer)
NUMBERS = (float, *WHOLE, np.floating)

_UFUNCS = {  # of numpy's operators, which come here when a number of numpy is on the left
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "floor_divide": "floor_div",
    "remainder": "mod",
    "less": "less",
    "less_equal": "less_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}
_SPELLED = {  # attributes of other tensors, as kernels have them
    "T": "tl.trans(x)",
    "to": "an operation with a tensor of that type, such as x + tl.zeros(1, 'f32')",
    "astype": "an operation with a tensor of that type, such as x + tl.zeros(1, 'f32')",
    "sum": "tl.sum(x, axis)",
    "max": "tl.max(x, axis)",
    "min": "tl.min(x, axis)",
    "reshape": "the shape that it has in tl.load",
    "size": "x.nbytes or x.shape",
    "ndim": "len(x.shape)",
}


class TensorOperators:
    """The operators of a `TensorHandle`, on the running kernel's context. Errors: NoContextError outside kernels."""

    __slots__ = ()

    def __add__(self, other: TensorHandle | float) -> TensorHandle:
        return context().add(self, other)

    def __radd__(self, other: float) -> TensorHandle:
        return context().add(other, self)

    def __sub__(self, other: TensorHandle | float) -> TensorHandle:
        return context().sub(self, other)

    def __rsub__(self, other: float) -> TensorHandle:
        return context().sub(other, self)

    def __mul__(self, other: TensorHandle | float) -> TensorHandle:
        return context().mul(self, other)

    def __rmul__(self, other: float) -> TensorHandle:
        return context().mul(other, self)

    def __truediv__(self, other: TensorHandle | float) -> TensorHandle:
        return context().div(self, other)

    def __rtruediv__(self, other: float) -> TensorHandle:
        return context().div(other, self)

    def __floordiv__(self, other: TensorHandle | float) -> TensorHandle:
        return context().floor_div(self, other)

    def __rfloordiv__(self, other: float) -> TensorHandle:
        return context().floor_div(other, self)

    def __mod__(self, other: TensorHandle | float) -> TensorHandle:
        return context().mod(self, other)

    def __rmod__(self, other: float) -> TensorHandle:
        return context().mod(other, self)

    def __neg__(self) -> TensorHandle:
        return context().mul(self, -1)

    def __pos__(self) -> TensorHandle:
        return self  # type: ignore[return-value]

    def __abs__(self) -> TensorHandle:
        return context().abs(self)

    def __lt__(self, other: TensorHandle | float) -> TensorHandle:
        return context().less(self, other)

    def __le__(self, other: TensorHandle | float) -> TensorHandle:
        return context().less_equal(self, other)

    def __gt__(self, other: TensorHandle | float) -> TensorHandle:
        return context().greater(self, other)

    def __ge__(self, other: TensorHandle | float) -> TensorHandle:
        return context().greater_equal(self, other)

    def __eq__(self, other: object) -> TensorHandle:  # type: ignore[override]
        return context().equal(self, other)

    def __ne__(self, other: object) -> TensorHandle:  # type: ignore[override]
        return context().not_equal(self, other)

    __hash__ = object.__hash__

    def __and__(self, other: TensorHandle | int) -> TensorHandle:
        return context().bit_and(self, other)

    __rand__ = __and__

    def __or__(self, other: TensorHandle | int) -> TensorHandle:
        return context().bit_or(self, other)

    __ror__ = __or__

    def __invert__(self) -> NoReturn:
        fail("a kernel inverted a tensor with ~", "write mask == 0 for the opposite of a mask")

    def __xor__(self, other: object) -> NoReturn:
        fail("a kernel combined tensors with ^", "write a != b for two masks")

    __rxor__ = __xor__

    def __pow__(self, other: object) -> NoReturn:
        fail("a kernel raised a tensor to a power with **", "write x * x, or tl.exp(tl.log(x) * power)")

    __rpow__ = __pow__

    def __lshift__(self, other: object) -> NoReturn:
        fail("a kernel shifted a tensor", "write x * 2 or x // 2, with a power of 2 for each number of bits")

    __rlshift__ = __rshift__ = __rrshift__ = __lshift__

    def __matmul__(self, other: object) -> NoReturn:
        fail("a kernel multiplied matrices with @", "write tl.dot(a, b), or tl.composite('gemm', a, b) for tiles")

    __rmatmul__ = __matmul__

    def __bool__(self) -> NoReturn:
        fail(
            f"a kernel asked whether {self!r} is true",
            "choose with tl.where, tl.maximum or tl.minimum, or read its elements with `.data` in a live kernel (--live)",
        )

    def __float__(self) -> NoReturn:
        fail(f"a kernel took {self!r} as one number", "read it with `.data` in a live kernel (--live)")

    __int__ = __index__ = __round__ = __float__

    def __contains__(self, value: object) -> NoReturn:
        remedy = "compare with x == value, and look at `.data` of that in a live kernel (--live)"
        fail(f"a kernel asked whether {value!r} is in {self!r}", remedy)

    def __getitem__(self, key: object) -> NoReturn:
        fail(
            f"a kernel took a part of {self!r} with [ ]",
            "load a part from its own address, and a column with the shape (n, 1)",
        )

    def __setitem__(self, key: object, value: object) -> NoReturn:
        fail(f"a kernel set a part of {self!r}", "choose elements with tl.where, or store a part at its own address")

    def __iter__(self) -> NoReturn:
        fail(f"a kernel went through the elements of {self!r}", "write one operation of the whole tensor")

    def __len__(self) -> NoReturn:
        fail(f"a kernel asked for the length of {self!r}", "read its shape: x.shape[0]")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **_: Any) -> TensorHandle:
        name = _UFUNCS.get(ufunc.__name__)
        if name and method == "__call__" and all(isinstance(x, (TensorOperators, *NUMBERS)) for x in inputs):
            return getattr(context(), name)(*inputs)
        arrays: list[np.ndarray] = [x for x in inputs if isinstance(x, np.ndarray)]
        if arrays:
            fail(f"a kernel computed with {describe(arrays[0])} and {self!r}", HOST_ARRAYS)
        return fail(f"a kernel called numpy's {ufunc.__name__} of {self!r}", "call the function of `tl`")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        fail(f"a kernel made an array of numpy of {self!r}", "read it with `.data` in a live kernel (--live)")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        remedy = f"write {_SPELLED[name]}" if name in _SPELLED else "call a function of `tl`"
        fail(f"a tensor has no {name!r}", remedy, PrimitiveError)


HOST_ARRAYS = "make a tensor of it on the host with torch.from_numpy and load that"


def describe(value: object) -> str:
    """A value as messages name it: an array by its shape."""
    if isinstance(value, np.ndarray):
        return f"a numpy array of shape {cast(np.ndarray, value).shape}"
    return repr(value)
