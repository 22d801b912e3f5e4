"""Matrix products: the blocking dot, and the composite pipeline that streams tiles while the kernel goes on."""

# pyright: reportUnnecessaryIsInstance=false
# What users write is not checked for types before it runs.

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, cast

from kernbench.dtypes import bits, canonical, is_float
from kernbench.errors import suggest
from kernbench.program.op_semantics import Composite, Dot, Shape, find_step_dtype
from kernbench.tl.language.context_base import CheckedPointer, ContextCore, Work
from kernbench.tl.language.epilogue import check_types, read_epilogue
from kernbench.tl.language.errors import CompositeError, fail
from kernbench.tl.language.handle import NUMBERS, WHOLE, CompletionHandle, TensorHandle, check_number, scalar_handle
from kernbench.tl.language.math import BINARY, FLOATS_ONLY, UNARY
from kernbench.tl.language.shapes import find_broadcast, product_shape
from kernbench.tl.language.tensor_type import TensorType, as_dtype, promote, type_of


class MatmulPrimitives(ContextCore):
    """The primitives of `tl` for matrix products and tiled pipelines."""

    def dot(
        self, a: TensorHandle, b: TensorHandle, acc: TensorHandle | None = None, out_dtype: str | None = None
    ) -> TensorHandle:
        """a @ b, plus `acc` of its shape, of tensors in TCM: (M, K) times (K, N), summed in f32, or i32 for integers.

        The result has the type `out_dtype`, by default that of `acc`, or else of the operands.
        """
        given = (a, b) if acc is None else (a, b, acc)
        inputs = tuple(self._as_tensor("dot", x) for x in given)
        result, acc_dtype, work = find_product(out_dtype, *[x.type for x in inputs])
        value = self._begin()
        out = self._result(value, result)
        note = Dot(tuple(x.operand for x in inputs), value, result.shape, result.dtype, acc_dtype, out.addr)
        self._runner.compute(note, work, inputs, out)
        return out

    def composite(
        self,
        op: str,
        a: TensorHandle,
        b: TensorHandle | None = None,
        out_ptr: int = 0,
        math_op: str | None = None,
        epilogue: Sequence[Mapping[str, Any]] | None = None,
        acc_dtype: str | None = None,
        tile_shape: Sequence[int] | None = None,
        out_dtype: str | None = None,
    ) -> CompletionHandle:
        """Start a tiled pipeline and go on at once: op "gemm" is a @ b, op "math" is `math_op` of a, or of a and b.

        Tiles of references are streamed from memory; loaded tensors are not read again. The result goes to memory at
        `out_ptr`, or to scratch if that is 0. `tile_shape` is (tile_m, tile_k, tile_n). The result has the type `out_dtype`, by
        default that of the operands, or f16 for whole numbers that a step `dequant` scales.
        Errors: CompositeError, a ValueError, for an op or an epilogue that composites do not have; KernelError for the rest.
        """
        steps, extra = read_epilogue(epilogue, op, 1 if b is None else 2)
        shape, operand_dtype = _result_type(op, a, b, math_op)
        if out_dtype is None and not is_float(operand_dtype) and any(step.op == "dequant" for step in steps):
            out_dtype = "f16"
        dtype = _as_result("composite", out_dtype, operand_dtype)
        pair = (a,) if b is None else (a, b)
        for x in pair:
            self._check_ended("composite", x)
        inputs = (*pair, *[self._epilogue_operand(x, shape, dtype) for x in extra])
        tile = self._runner.tile if tile_shape is None else _as_tile(tile_shape)
        acc_dtype = _as_accumulator(acc_dtype, operand_dtype, dtype)
        check_types(steps, find_step_dtype(acc_dtype, dtype))
        result = type_of(shape, dtype)
        out_va = self._address("composite", out_ptr, result.nbytes, dtype)
        if not out_va and not isinstance(out_ptr, CheckedPointer):  # a tensor may lie at the physical address 0
            out_va = None
        value = self._begin()
        out = self._result(value, result) if out_va is None else None
        operands = tuple(x.operand for x in inputs)
        made = (None, 0) if out is None else (value, out.addr)
        note = Composite(op, math_op, operands, made[0], out_va, shape, dtype, acc_dtype, steps, tile, made[1])
        completion = CompletionHandle(note, inputs, out)
        if out is not None:
            out.streamed = True  # until it has been waited for
        self._runner.composite(completion)
        self._pending[completion] = None
        return completion

    def _settle(self, completions: Iterable[CompletionHandle]) -> None:
        for completion in list(completions):
            if completion in self._pending:
                self._runner.wait(completion)
                del self._pending[completion]
                if completion.out is not None:
                    completion.out.streamed = False

    def _epilogue_operand(self, x: Any, shape: Shape, dtype: str) -> TensorHandle:
        if isinstance(x, NUMBERS):
            check_number("composite", x)  # pyright: ignore[reportArgumentType]
            return scalar_handle(cast(float, x), "f32" if is_float(dtype) else dtype)
        x = self._as_tensor("composite", x)
        if find_broadcast(x.shape, shape) != shape:
            fail(
                f"tl.composite got an epilogue tensor of shape {x.shape} for a result of shape {shape}",
                "give a number or a shape that broadcasts to the result's",
            )
        return x


@cache
def find_product(
    out_dtype: str | None, a: TensorType, b: TensorType, acc: TensorType | None = None
) -> tuple[TensorType, str, Work]:
    """The type of a dot's result, the dtype of its sums, and its work. Errors: KernelError."""
    shape, dtype = product_shape("dot", a.shape, b.shape), promote(a.dtype, b.dtype)
    if acc is not None and acc.shape != shape:
        fail(f"tl.dot got acc of shape {acc.shape} for a product of shape {shape}", "give it the shape of the product")
    if acc is not None and is_float(acc.dtype) != is_float(dtype):
        fail(f"tl.dot got acc of {acc.dtype} for a product of {dtype}", f"give acc the type {accumulator(dtype)}")
    result = type_of(shape, _as_result("dot", out_dtype or (acc and acc.dtype), dtype))
    size = (*a.shape, b.shape[1], max(bits(a.dtype), bits(b.dtype)))
    read_bytes = a.nbytes + b.nbytes + (acc.nbytes if acc is not None else 0)
    return result, accumulator(dtype), Work("gemm", "gemm", size, read_bytes, result.nbytes)


def accumulator(dtype: str) -> str:
    """The type in which products of a type are summed unless the kernel says otherwise."""
    return "f32" if is_float(dtype) else "i32"


def _as_result(primitive: str, out_dtype: str | None, dtype: str) -> str:
    """The type of a result, of operands of a dtype. Errors: KernelError for whole numbers out of floats."""
    if out_dtype is None:
        return dtype
    found = canonical(as_dtype(primitive, out_dtype))
    if is_float(dtype) and not is_float(found):
        fail(f"tl.{primitive} got out_dtype={out_dtype!r} for operands of {dtype}", "give a floating-point type")
    return found


def _as_accumulator(acc_dtype: str | None, operand_dtype: str, dtype: str) -> str:
    """The type in which a composite of operands of a dtype sums for a result of another.

    Errors: KernelError for a type of neither's sort, InputError for an unknown type.
    """
    if acc_dtype is None:
        return accumulator(operand_dtype)
    if is_float(acc_dtype) not in (is_float(operand_dtype), is_float(dtype)):
        fail(
            f"tl.composite got acc_dtype={acc_dtype!r} for a result of {dtype}",
            f"give a {'floating-point' if is_float(dtype) else 'whole-number'} type, such as {accumulator(dtype)!r}",
        )
    return acc_dtype


def _result_type(op: str, a: TensorHandle, b: TensorHandle | None, math_op: str | None) -> tuple[Shape, str]:
    """Shape and dtype of a composite's result. Errors: CompositeError for the op, KernelError for the tensors."""
    for x in (a,) if b is None else (a, b):
        if isinstance(x, WHOLE):
            fail(
                f"tl.composite got {x!r}, a number or a pointer, where a tensor is meant",
                "name what is at a pointer with tl.ref, or load it with tl.load",
            )
        if not isinstance(x, TensorHandle):
            fail(f"tl.composite got {x!r}", "give a tensor, from tl.load or tl.ref")
    if op == "gemm":
        if b is None or math_op is not None:
            problem = f"tl.composite 'gemm' got b={b!r} and math_op={math_op!r}"
            fail(problem, "give a and b, and no math_op", CompositeError)
        return product_shape("composite", a.shape, b.shape), promote(a.dtype, b.dtype)
    if op != "math":
        fail(f"tl.composite got the op {op!r}", suggest(str(op), ("gemm", "math"))[2:], CompositeError)
    known = UNARY if b is None else BINARY
    if math_op not in known:
        problem = f"tl.composite 'math' of {1 if b is None else 2} got math_op {math_op!r}"
        fail(problem, suggest(str(math_op), known)[2:], CompositeError)
    dtype = a.dtype if b is None else promote(a.dtype, b.dtype)
    if math_op in FLOATS_ONLY and not is_float(dtype):
        fail(f"tl.composite 'math' got math_op {math_op!r} of {dtype}", "it needs floats", CompositeError)
    if b is None:
        return a.shape, dtype
    if a.shape != b.shape:
        fail(f"tl.composite 'math' got shapes {a.shape} and {b.shape}", "make them equal")
    return a.shape, dtype


def _as_tile(tile_shape: Sequence[int]) -> tuple[int, int, int]:
    tile = tuple(tile_shape)
    if len(tile) != 3 or not all(isinstance(size, WHOLE) and size > 0 for size in tile):
        fail(f"tl.composite got the tile shape {tile_shape!r}", "give (tile_m, tile_k, tile_n), each at least 1")
    return int(tile[0]), int(tile[1]), int(tile[2])
