"""Handles of a kernel: tensors in TCM or in memory, composites in progress, expected messages."""

from __future__ import annotations

from functools import lru_cache
from math import isfinite

import numpy as np

from kernbench.dtypes import bits, is_float
from kernbench.program.op_semantics import Composite, Constant, Operand, Recv, Ref, View
from kernbench.replay.deferred import Deferred
from kernbench.tl.language.current_context import find_active
from kernbench.tl.language.errors import fail
from kernbench.tl.language.operators import NUMBERS as NUMBERS
from kernbench.tl.language.operators import WHOLE, TensorOperators
from kernbench.tl.language.tensor_type import TensorType, scalar_dtype, type_of

Elements = np.ndarray | Deferred[np.ndarray]


class TensorHandle(TensorOperators):
    """A tensor as a kernel sees it: shape, dtype, where it is, and, in a live kernel, its numbers.

    `space` is "hbm", "sram" or "tcm" and `addr` the address there. `pinned` says that the elements were loaded into TCM; a
    handle in memory that is not pinned is streamed by composites, and loaded by each other operation if it is `on_demand`.
    `transposed` says that `addr` holds the rows of the transposed tensor. Its operators are in `TensorOperators`.
    """

    __slots__ = (
        "_data",
        "addr",
        "dtype",
        "on_demand",
        "operand",
        "pinned",
        "shape",
        "space",
        "streamed",
        "transposed",
        "type",
    )

    def __init__(
        self,
        operand: Operand,
        addr: int,
        type: TensorType,
        space: str = "tcm",
        pinned: bool = False,
        transposed: bool = False,
        data: Elements | None = None,
        on_demand: bool = False,
    ) -> None:
        self.operand = operand  # its name in notes
        self.addr = addr
        self.type = type
        self.shape = type.shape
        self.dtype = type.dtype
        self.space = space
        self.pinned = pinned
        self.streamed = space != "tcm" and not pinned  # still in memory, to be fetched by its users
        self.on_demand = on_demand
        self.transposed = transposed
        self._data = data

    @property
    def nbytes(self) -> int:
        """Bytes of the elements; a number takes none."""
        return self.type.nbytes

    @property
    def data(self) -> np.ndarray | None:
        """The numbers, in a live kernel; None outside kernels. Errors: KernelError in a recorded kernel."""
        context = find_active()
        return self._numbers() if context is None else context._read_data(self)  # pyright: ignore[reportPrivateUsage]

    def _numbers(self) -> np.ndarray | None:
        """The numbers as far as they are known."""
        if isinstance(self._data, Deferred):
            self._data = self._data.make()
        return self._data

    def swap(self) -> TensorHandle:
        """The same elements with the last two dimensions swapped."""
        shape = (*self.shape[:-2], self.shape[-1], self.shape[-2])
        data = None if self._data is None else _swap(self._data)
        operand = self.operand.of if isinstance(self.operand, View) else View(self.operand)
        type = type_of(shape, self.dtype)
        transposed = not self.transposed
        return TensorHandle(operand, self.addr, type, self.space, self.pinned, transposed, data, self.on_demand)

    def __repr__(self) -> str:
        return f"TensorHandle({self.shape}, {self.dtype}, {self.space}:{self.addr:#x})"


def _swap(data: Elements) -> Elements:
    return Deferred(lambda: data.make().swapaxes(-1, -2)) if isinstance(data, Deferred) else data.swapaxes(-1, -2)


class CompletionHandle:
    """A composite in progress, for `tl.wait`. `out` is its result in TCM, or None if it goes to memory."""

    __slots__ = ("counter", "inputs", "note", "out", "plan")

    def __init__(self, note: Composite, inputs: tuple[TensorHandle, ...], out: TensorHandle | None) -> None:
        self.note = note
        self.inputs = inputs
        self.out = out
        self.counter = self.plan = -1  # in the program, once it has been lowered: the counter of its end, its tiles


class RecvFuture:
    """A message that a kernel expects, for `tl.wait`, which returns the tensor; `out` is None until then."""

    __slots__ = ("note", "out")

    def __init__(self, note: Recv) -> None:
        self.note = note
        self.out: TensorHandle | None = None


def constant_handle(constant: Constant) -> TensorHandle:
    """A tensor of values known at once; it takes no time and no scratch."""
    return TensorHandle(constant, 0, type_of(constant.shape, constant.dtype))


def as_number(value: float) -> float:
    """A Python or numpy number as Python's own."""
    return int(value) if isinstance(value, WHOLE) else float(value)


def check_number(primitive: str, value: float) -> None:
    """Errors: KernelError for a whole number beyond 64 bits."""
    if isinstance(value, WHOLE) and not -(1 << 63) <= value < 1 << 63:
        fail(f"tl.{primitive} got {value!r}", "give a number of at most 64 bits")


def as_element(primitive: str, value: float, dtype: str) -> float:
    """A number as an element of a dtype: among integers a fraction is cut towards zero, and what does not fit wraps.

    Errors: KernelError for a whole number beyond 64 bits, and for inf or nan among integers.
    """
    check_number(primitive, value)
    number = as_number(value)
    if is_float(dtype):
        return number
    if not isfinite(number):
        fail(f"tl.{primitive} got {value!r} for {dtype}", "give a finite number, or a floating-point type")
    least = 0 if dtype[0] == "u" else -(1 << bits(dtype) - 1)
    return (int(number) - least) % (1 << bits(dtype)) + least


@lru_cache(maxsize=1024, typed=True)
def scalar_handle(value: float, dtype: str) -> TensorHandle:
    """A number as a tensor of shape (), in the type that it takes beside a tensor of a dtype."""
    return constant_handle(Constant((), scalar_dtype(value, dtype), as_number(value)))


def reference_handle(ref: Ref, *, on_demand: bool = False) -> TensorHandle:
    """A tensor that stays where it is."""
    return TensorHandle(ref, ref.va, type_of(ref.shape, ref.dtype), ref.space, on_demand=on_demand)
