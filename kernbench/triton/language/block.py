"""Blocks and pointers of a kernel, with the operators of Triton's tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kernbench.tl.language.errors import fail
from kernbench.triton.language.machine import find_pointee
from kernbench.triton.language.types import dtype, named, of_number, pointer_type, promote

NUMBERS = (bool, int, float, np.integer, np.floating, np.bool_)


class tensor:
    """A block or a scalar: `data` is an array of numpy, or one that is recorded."""

    __slots__ = ("data", "dtype")
    __array_ufunc__ = None  # numpy leaves operators to this class

    def __init__(self, data: Any, kind: dtype) -> None:
        self.data, self.dtype = data, kind

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each dimension."""
        return self.data.shape

    @property
    def T(self) -> tensor:
        """Its transpose."""
        return tensor(self.data.T, self.dtype)

    @property
    def type(self) -> dtype:
        """The type of its elements."""
        return self.dtype

    @property
    def numel(self) -> int:
        """The number of its elements."""
        return int(np.prod(self.shape))

    @property
    def value(self) -> Any:
        """Itself: the value of a constant that a name holds."""
        return self

    def to(self, dtype: Any, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> Any:
        """The same numbers in another type, or the same bits; addresses as pointers. Errors: KernelError."""
        if isinstance(dtype, pointer_type):
            return _at_addresses(np.asarray(self.data).astype(np.int64), dtype.element_ty)
        if not hasattr(dtype, "numpy"):
            fail(f"a block got the type {dtype!r}", "convert to a type of elements, such as tl.float32")
        if dtype is self.dtype:
            return self
        if bitcast:
            if dtype.primitive_bitwidth != self.dtype.primitive_bitwidth:
                fail(f"a block of {self.dtype} was seen as {dtype}", "both types have the same number of bits")
            return tensor(self.data.view(dtype.numpy), dtype)
        if fp_downcast_rounding not in (None, "rtne"):
            return tensor(_toward_zero(self.data), dtype)
        return tensor(_converted(self.data, dtype), dtype)

    def __getitem__(self, key: Any) -> tensor:
        every = key if isinstance(key, tuple) else (key,)
        if not all(one is None or one == slice(None) for one in every):
            fail(f"a block got the index {key!r}", "blocks are indexed with : and None alone")
        return tensor(self.data[key], self.dtype)

    def __bool__(self) -> bool:
        if self.shape and self.data.size != 1:
            fail("a block of more than one element was used as a condition", "use tl.where, or reduce it")
        return bool(self.data)

    def __index__(self) -> int:
        return int(self.data)

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.data)

    def __repr__(self) -> str:
        return f"tensor({self.shape}, {self.dtype})"

    def __neg__(self) -> tensor:
        return tensor(np.negative(self.data), self.dtype)

    def __pos__(self) -> tensor:
        return self

    def __invert__(self) -> tensor:
        return tensor(np.invert(self.data), self.dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = _methods.get(name)
        if found is None:
            fail(f"a block has no method {name!r}", "use a function of triton.language")
        return lambda *args, **options: found(self, *args, **options)


_methods: dict[str, Callable[..., Any]] = {}


def add_methods(functions: Mapping[str, Any]) -> None:
    """Let blocks have functions of the language as methods."""
    _methods.update({name: one for name, one in functions.items() if callable(one)})


class pointer:
    """Pointers to elements of one tensor of the launch: its number, and their offsets in elements."""

    __slots__ = ("element", "number", "offsets")
    __array_ufunc__ = None

    def __init__(self, number: int, offsets: Any, element: dtype) -> None:
        self.number, self.offsets, self.element = number, offsets, element

    @property
    def dtype(self) -> pointer_type:
        """The type of the pointers."""
        return pointer_type(self.element)

    type = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each dimension."""
        return self.offsets.shape

    def __add__(self, other: Any) -> pointer:
        return pointer(self.number, np.add(self.offsets, self._offset(other)), self.element)

    __radd__ = __add__

    def __sub__(self, other: Any) -> pointer:
        return pointer(self.number, np.subtract(self.offsets, self._offset(other)), self.element)

    def _offset(self, other: Any) -> Any:
        """Elements by which pointers go on: whole numbers. Errors: KernelError."""
        block = as_block(other) if isinstance(other, (tensor, *NUMBERS)) else None
        if block is None or not block.dtype.is_int():
            of = "pointers" if isinstance(other, pointer) else other if block is None else f"a block of {block.dtype}"
            fail(f"pointers got the offset {of}", "offsets of pointers are whole numbers")
        check_shapes(self.shape, block.shape)
        return block.data.astype(np.int64)

    def to(self, dtype: Any, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> pointer:  # noqa: ARG002
        """Pointers to elements of another type of the same bits. Errors: KernelError."""
        element = getattr(dtype, "element_ty", None)
        if element is None or element.primitive_bitwidth != self.element.primitive_bitwidth:
            fail(f"pointers to {self.element} became {dtype!r}", "keep the size of the elements")
        return self if element is self.element else pointer(self.number, self.offsets, element)

    def __getitem__(self, key: Any) -> pointer:
        return pointer(self.number, self.offsets[key], self.element)


def _at_addresses(addresses: np.ndarray, element: dtype) -> pointer:
    """Pointers to what is at addresses of the host's memory. Errors: KernelError for those that no tensor has."""
    found = find_pointee(addresses)
    return pointer(found.number, (addresses - found.start) // element.itemsize, element)


def _converted(data: Any, kind: dtype) -> Any:
    """Numbers in another type: of a fraction its whole part, of truth values whether they are not 0."""
    if kind.name == "int1":
        return np.not_equal(data, 0)
    return data.astype(kind.numpy)


def _toward_zero(data: Any) -> Any:
    """f32 cut to bf16 instead of rounded."""
    import ml_dtypes

    bits = np.asarray(data).astype(np.float32).view(np.uint32)
    return (bits >> np.uint32(16)).astype(np.uint16).view(ml_dtypes.bfloat16)


def as_block(x: Any, beside: dtype | None = None) -> tensor:
    """A block, or a number as one beside a block of a type."""
    if isinstance(x, tensor):
        return x
    if not isinstance(x, NUMBERS):
        fail(f"triton.language got {x!r}", "give a block or a number")
    kind = of_number(x, beside)
    return tensor(np.asarray(x).astype(kind.numpy)[()], kind)


def check_shapes(one: tuple[int, ...], two: tuple[int, ...]) -> None:
    """Check that blocks of two shapes meet. Errors: KernelError."""
    if one != two and one and two:
        for a, b in zip(one[::-1], two[::-1], strict=False):
            if a != b and 1 not in (a, b):
                fail(
                    f"blocks of the shapes {one} and {two} meet",
                    "sizes along a dimension are equal, or one of them is 1",
                )


def mask_of(mask: Any) -> Any:
    """The numbers of a mask or a condition."""
    return mask.data if isinstance(mask, tensor) else mask


def meet(a: Any, b: Any, division: bool = False) -> tuple[tensor, tensor]:
    """Two operands in the type in which they meet."""
    one, two = (x.dtype if isinstance(x, tensor) else None for x in (a, b))
    a, b = as_block(a, two), as_block(b, one)
    check_shapes(a.shape, b.shape)
    kind = promote(a.dtype, b.dtype, division)
    return a.to(kind), b.to(kind)


def _divide_truncated(a: Any, b: Any) -> Any:
    """Whole numbers divided as C does, towards zero."""
    return np.floor_divide(np.subtract(a, np.fmod(a, b)), b)


def _whole_division(name: str, function: Callable[..., Any], a: Any, b: Any) -> Any:
    """Quotient or rest of whole numbers: one operation where a block is recorded."""
    recorded = next((x for x in (a, b) if hasattr(x, "apply")), None)
    return function(a, b) if recorded is None else recorded.apply(name, function, (a, b))


def binary(function: Callable[..., Any], a: Any, b: Any, kind: str | None = None) -> tensor:
    """A function of two operands; `kind` names the type of the result, by default theirs."""
    a, b = meet(a, b)
    found = function(a.data, b.data)
    return tensor(found, named(kind) if kind else a.dtype)


def divide(a: Any, b: Any) -> tensor:
    """The quotient, of whole numbers and of halves in f32."""
    a, b = meet(a, b, division=True)
    if a.dtype.is_int():
        a, b = a.to(named("float32")), b.to(named("float32"))
    return tensor(np.true_divide(a.data, b.data), a.dtype)


def whole(function: Callable[..., Any], name: str) -> Callable[..., tensor]:
    """An operator on whole numbers; on floats it does what numpy does."""

    def operate(a: Any, b: Any) -> tensor:
        a, b = meet(a, b, division=name in ("//", "%"))
        if name in ("and", "or", "xor", "<<", ">>") and a.dtype.is_floating():
            fail(f"the operator {name} got blocks of {a.dtype}", "give whole numbers")
        return tensor(function(a.data, b.data), a.dtype)

    return operate


def _floor(a: Any, b: Any) -> Any:
    if a.dtype.kind in "iu":
        return _whole_division("floor_divide", _divide_truncated, a, b)
    return np.floor(np.true_divide(a, b))


_OPERATORS: dict[str, Callable[..., tensor]] = {
    "add": lambda a, b: b + a if isinstance(b, pointer) else binary(np.add, a, b),
    "sub": lambda a, b: binary(np.subtract, a, b),
    "mul": lambda a, b: binary(np.multiply, a, b),
    "truediv": divide,
    "floordiv": whole(_floor, "//"),
    "mod": whole(np.fmod, "%"),
    "and": whole(np.bitwise_and, "and"),
    "or": whole(np.bitwise_or, "or"),
    "xor": whole(np.bitwise_xor, "xor"),
    "lshift": whole(np.left_shift, "<<"),
    "rshift": whole(np.right_shift, ">>"),
}
_COMPARISONS = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def _install() -> None:
    for name, function in _OPERATORS.items():
        setattr(tensor, f"__{name}__", function)
        setattr(tensor, f"__r{name}__", lambda a, b, function=function: function(b, a))
    for name, ufunc in _COMPARISONS.items():
        setattr(tensor, f"__{name}__", lambda a, b, ufunc=ufunc: binary(ufunc, a, b, "int1"))
    tensor.__hash__ = None  # type: ignore[assignment]


_install()
