"""`tl`: the API of device kernels.

A context checks its arguments, makes handles and notes, and passes each command to its runner; it knows nothing of time.
The runner decides the mode: without one the commands are collected in a list, `Lowering` writes them to a program at once,
`LiveLowering` also computes their numbers. The kernel cannot tell the difference.
"""

# pyright: reportUnnecessaryIsInstance=false
# What users write is not checked for types before it runs.

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernbench.program.op_semantics import Constant, Load, Ref, Store
from kernbench.tl.language.errors import fail
from kernbench.tl.language.handle import (
    NUMBERS,
    WHOLE,
    CompletionHandle,
    RecvFuture,
    TensorHandle,
    as_element,
    constant_handle,
    reference_handle,
)
from kernbench.tl.language.math import MathPrimitives
from kernbench.tl.language.matmul import MatmulPrimitives
from kernbench.tl.language.messages import MessagePrimitives
from kernbench.tl.language.shapes import as_shape
from kernbench.tl.language.tensor_type import as_dtype, as_type

if TYPE_CHECKING:
    import numpy as np


class TLContext(MathPrimitives, MatmulPrimitives, MessagePrimitives):
    """The kernel language on one PE."""

    # Where and how many

    def program_id(self, axis: int = 0) -> int:
        """The index of this program among the PEs of its cube (axis 0) or among the cubes (axis 1)."""
        return self._program("program_id", axis)[0]

    def num_programs(self, axis: int = 0) -> int:
        """The number of programs: PEs in a cube (axis 0), cubes (axis 1)."""
        return self._program("num_programs", axis)[1]

    def _program(self, primitive: str, axis: int) -> tuple[int, int]:
        if axis not in (0, 1):
            fail(f"tl.{primitive} got axis {axis!r}", "axis 0 counts the PEs of a cube, axis 1 the cubes")
        return self._programs[int(axis)]

    @staticmethod
    def cdiv(a: int, b: int) -> int:
        """a / b rounded up."""
        if not b:
            fail(f"tl.cdiv got {a!r} and {b!r}", "give a divisor other than 0")
        a, b = (int(x) if isinstance(x, WHOLE) else x for x in (a, b))
        return -(-a // b)

    # Names of Triton for what is Python here

    @staticmethod
    def range(*bounds: int) -> range:
        """Python's range, from 0 or a start to an end, with a step."""
        return range(*bounds)

    static_range = range

    @staticmethod
    def constexpr(value: Any) -> Any:
        """The value itself: all numbers of a kernel are known when it runs."""
        return value

    @staticmethod
    def multiple_of(value: Any, of: int | Sequence[int]) -> Any:  # noqa: ARG004
        """The value itself, a hint without effect."""
        return value

    # Time

    def cycles(self, n: int) -> None:
        """Keep the PE's CPU busy for n cycles."""
        if not isinstance(n, WHOLE) or n < 0:
            fail(f"tl.cycles got {n!r}", "give a whole number of cycles, 0 or more")
        self._dispatch()
        self._runner.delay(int(n))

    # Tensors that take no time to make

    def ref(self, ptr: int, shape: int | Sequence[int], dtype: str = "f16") -> TensorHandle:
        """A tensor that stays in memory; a composite streams its tiles."""
        result = as_type("ref", shape, dtype)
        return reference_handle(Ref(self._address("ref", ptr, result.nbytes, dtype), result.shape, result.dtype))

    def arange(self, start: int, end: int, dtype: str = "i32") -> TensorHandle:
        """start, start + 1, ... end - 1."""
        if not (isinstance(start, WHOLE) and isinstance(end, WHOLE) and start < end):
            fail(f"tl.arange got {start!r} and {end!r}", "give two ints, the second one greater")
        return constant_handle(Constant((int(end - start),), as_dtype("arange", dtype), int(start), 1))

    def zeros(self, shape: int | Sequence[int], dtype: str = "f16") -> TensorHandle:
        """A tensor of zeros."""
        return constant_handle(Constant(as_shape("zeros", shape), as_dtype("zeros", dtype), 0))

    def full(self, shape: int | Sequence[int], value: float, dtype: str = "f16") -> TensorHandle:
        """A tensor of one value."""
        if not isinstance(value, NUMBERS):
            fail(f"tl.full got the value {value!r}", "give a number")
        kind = as_type("full", shape, dtype)
        return constant_handle(Constant(kind.shape, kind.dtype, as_element("full", value, kind.dtype)))

    def trans(self, x: TensorHandle) -> TensorHandle:
        """The same elements with the last two dimensions swapped."""
        if not isinstance(x, TensorHandle) or len(x.shape) < 2:
            fail(f"tl.trans got {x!r}", "give a tensor of two dimensions or more")
        self._check_ended("trans", x)
        return x.swap()

    # Memory

    def load(self, ptr: int, shape: int | Sequence[int], dtype: str = "f16") -> TensorHandle:
        """Load a tensor from memory; returns when it is in TCM."""
        result = as_type("load", shape, dtype)
        va = self._address("load", ptr, result.nbytes, dtype)
        value = self._begin()
        out = TensorHandle(value, va, result, "hbm", True)
        self._runner.load(Load(value, va, result.shape, dtype), out)
        return out

    def store(self, ptr: int, handle: TensorHandle) -> None:
        """Write a tensor to memory; returns when memory has acknowledged it."""
        self._address("store", ptr)
        handle = self._as_tensor("store", handle)
        self._check_source("store", handle)
        va = self._address("store", ptr, handle.nbytes, handle.dtype)
        self._dispatch()
        self._runner.store(Store((handle.operand,), va, handle.shape, handle.dtype), handle)

    # Waiting

    def release(self, x: TensorHandle) -> None:
        """Free the scratch of a result for other results; the tensor cannot be used afterwards. Takes no time.

        A tensor without scratch (loaded, received, a constant) stays as it is.
        """
        self._check_tensor("release", x)
        if self._resident.get(x.addr) is x and x.space == "tcm" and self._scratch.holds(x.addr):
            del self._resident[x.addr]
            self._scratch.give_back(x.addr, x.nbytes)
            x.streamed, x.space = True, "released"

    def wait(self, handle: CompletionHandle | RecvFuture | None = None) -> TensorHandle | None:
        """Wait for a composite, or for a message and return it; without a handle, wait for all composites."""
        if isinstance(handle, RecvFuture):
            self._dispatch()
            return self._collect(handle)
        if handle is not None and not isinstance(handle, CompletionHandle):
            fail(
                f"tl.wait got {handle!r}",
                "give what tl.composite or tl.recv_async returned, or nothing to wait for all composites",
            )
        self._dispatch()
        self._settle(self._pending if handle is None else [handle])
        return None

    # For handles and runners

    def _read_data(self, handle: TensorHandle) -> np.ndarray | None:
        return self._runner.read_data(handle)

    def _finish(self) -> None:
        """Wait for all open composites and messages: a PE has finished when its engines have."""
        self._settle(self._pending)
        for future in list(self._futures):
            self._collect(future)
