"""The recorder of a group of programs: what they do with blocks and tensors, as commands of their issuer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from sys import _getframe
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from kernbench.errors import KernelError
from kernbench.library import show_path
from kernbench.triton.lowering import grouped_arithmetic  # noqa: F401 - what `Grouped` computes
from kernbench.triton.lowering.accesses import Accesses, Descriptions, TensorFacts
from kernbench.triton.lowering.block_array import BlockArray, ReadsDataError, as_zeros
from kernbench.triton.lowering.grouped import Grouped, make_grouped
from kernbench.triton.lowering.issue import Block, Facts, Issuer
from kernbench.triton.lowering.script import Script
from kernbench.triton.lowering.work import BlockWork, DotWork

if TYPE_CHECKING:
    from kernbench.tl.lowering.source_lines import LineFinder

_VECTOR_BITS = (8, 16, 32)  # for which an engine has rates


class Recorder:
    """A group of programs of one launch, int64[program, 3] their identities, as they run once for all of them."""

    def __init__(
        self,
        ids: np.ndarray,
        grid: tuple[int, int, int],
        tensors: Sequence[TensorFacts],
        facts: Facts,
        lines: LineFinder,
        descriptions: Descriptions,
    ) -> None:
        self.ids, self.grid = ids, grid
        self._facts, self._lines = facts, lines
        self._accesses = Accesses(ids, tensors, descriptions, self.refuse)
        self.script = Script(len(ids))
        self.issuer = Issuer(self.script, facts, self.refuse)
        self._shapes: dict[tuple[Any, ...], tuple[tuple[int, ...], np.dtype] | None] = {}
        self._stored: list[set[int]] = []  # by loop: tensors that it stores to

    # Identity

    def program_id(self, axis: int) -> Any:
        """The identity of the programs along an axis, a number or one for each."""
        return make_grouped(self.ids[:, axis], np.zeros((), np.int64), np.dtype(np.int32))[()]

    def num_programs(self, axis: int) -> int:
        """The size of the grid along an axis."""
        return self.grid[axis]

    # Memory

    def load(self, tensor: int, offsets: Any, mask: Any, other: Any, dtype: np.dtype) -> Any:
        """A block of elements of a tensor, at offsets of elements, where the mask holds."""
        line = self._line()
        addresses = self._blocks(offsets, mask)
        shape = np.broadcast_shapes(shape_of(offsets), shape_of(mask) if mask is not None else ())
        access = self._accesses.find(tensor, offsets, mask, line, write=False)
        self.issuer.control()
        if access is None:
            return np.broadcast_to(np.asarray(0 if other is None else other).astype(dtype), shape)
        after = any(tensor in stored for stored in self._stored)
        nbytes = prod(shape) * dtype.itemsize
        block = self.issuer.load(access, addresses, nbytes, line, after_stores=after)
        return self._made(shape, dtype, block, self.read(tensor, offsets, mask, other, dtype))

    def store(self, tensor: int, offsets: Any, value: Any, mask: Any) -> None:
        """Store a block."""
        line = self._line()
        access = self._accesses.find(tensor, offsets, mask, line, write=True)
        self.issuer.control()
        for stored in self._stored:
            stored.add(tensor)
        if access is not None:
            self.issuer.store(access, self._blocks(offsets, mask, value), line)
            self.write(tensor, offsets, value, mask)

    def atomic(
        self,
        tensor: int,
        offsets: Any,
        mask: Any,
        values: Sequence[Any],
        dtype: np.dtype,
        perform: Callable[..., Any],
        *,
        orders: bool,
    ) -> Any:
        """An atomic of a block; `perform(array, flat offsets, mask)` does it on the numbers and returns the old ones."""
        line = self._line()
        shape = np.broadcast_shapes(shape_of(offsets), *map(shape_of, values))
        access = self._accesses.find(tensor, offsets, mask, line, write=True)
        self.issuer.control()
        if access is None:
            return np.zeros(shape, dtype)
        nbytes = prod(shape) * dtype.itemsize
        block = self.issuer.atomic(access, self._blocks(offsets, mask, *values), nbytes, line, orders=orders)
        return self._made(shape, dtype, block, self.exchange(tensor, perform))

    def barrier(self) -> None:
        """Wait for all commands of the program."""
        self.issuer.barrier()

    # Numbers, which only live programs have

    def read(self, tensor: int, offsets: Any, mask: Any, other: Any, dtype: np.dtype) -> np.ndarray | None:  # noqa: ARG002
        """The numbers of a load; None if they are unknown."""
        return None

    def write(self, tensor: int, offsets: Any, value: Any, mask: Any) -> None:
        """Store numbers."""

    def exchange(self, tensor: int, perform: Callable[..., Any]) -> np.ndarray | None:  # noqa: ARG002
        """The old numbers of an atomic; None if they are unknown."""
        return None

    # Work

    def apply(self, name: str, function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> Any:
        """A function of blocks, some of them unknown."""
        inputs = list(_arrays_in(args))
        shape, dtype = self._find_shape(name, function, args, options, inputs)
        return self.work(name, inputs, shape, dtype, self._compute(function, args, options))

    def work(
        self, name: str, inputs: Sequence[Any], shape: tuple[int, ...], dtype: np.dtype, data: np.ndarray | None
    ) -> BlockArray:
        """Work on arrays that gives a block of a shape and type: of the vector engine, or of the control CPU for scalars."""
        if prod(shape) == 1 and all(one.size == 1 for one in inputs):
            for block in self._blocks(*inputs):
                self.issuer.use(block)
            self.issuer.control()
            return self._made(shape, dtype, None, data)
        blocks = self._blocks(*inputs)
        elements = max([prod(shape), *(one.size for one in inputs)])
        bits = max(_bits(dtype), *(_bits(one.dtype) for one in inputs if isinstance(one, BlockArray)))
        nbytes = prod(shape) * dtype.itemsize
        lanes = max(1, bits // _VECTOR_BITS[-1])  # that an element takes
        work = BlockWork(name, elements * lanes, bits // lanes, sum(block.room.nbytes for block in blocks), nbytes)
        return self._made(shape, dtype, self.issuer.compute(work, blocks, nbytes, self._line()), data)

    def dot(self, a: Any, b: Any, acc: Any, dtype: np.dtype, compute: Callable[[], Any], bits: int) -> Any:
        """a @ b, plus `acc`; `compute` does it where all numbers are known; `bits` are those of an operand."""
        *batch, m, k = shape_of(a)
        n = shape_of(b)[-1]
        shape = (*batch, m, n)
        accumulates = isinstance(acc, BlockArray) and acc.block is not None
        count = prod(batch) * max(1, bits // _VECTOR_BITS[-1]) ** 2  # of 64 bits as four of 32
        rate = next(width for width in _VECTOR_BITS if bits <= width or width == 32)
        work = DotWork(m, k, n, rate, max(1, bits // 8), dtype.itemsize, accumulates, count)
        data = None if any(isinstance(one, BlockArray) and one.data is None for one in (a, b, acc)) else compute()
        block = self.issuer.compute(work, self._blocks(a, b, acc), prod(shape) * dtype.itemsize, self._line())
        return self._made(shape, dtype, block, data)

    # Loops

    def enter_loop(self, stages: int) -> None:
        """A loop begins."""
        self.issuer.enter_loop(stages)
        self._stored.append(set())

    def next_iteration(self) -> None:
        """Its next iteration."""
        self.issuer.next_iteration()

    def leave_loop(self) -> None:
        """It has ended."""
        self._stored.pop()
        self.issuer.leave_loop()

    def reach(self, x: BlockArray) -> None:
        """The control CPU reads a number. Errors: ReadsDataError if it is unknown."""
        if x.data is None:
            raise ReadsDataError
        if x.block is not None:
            self.issuer.use(x.block)

    # Places

    def refuse(self, line: int, sentence: str) -> NoReturn:
        """Errors: KernelError, always, with the line of the kernel."""
        file, number = self._facts.program.sources[line]
        raise KernelError(f"{show_path(file)}:{number}: {sentence}")

    def _line(self) -> int:
        return self._lines.learn(_getframe(2))

    def _made(
        self, shape: tuple[int, ...], dtype: np.dtype, block: Block | None, data: np.ndarray | None
    ) -> BlockArray:
        return BlockArray(self, tuple(shape), dtype, block, data)

    def _blocks(self, *inputs: Any) -> tuple[Block, ...]:
        found = {id(one.block): one.block for one in inputs if isinstance(one, BlockArray) and one.block is not None}
        return tuple(found.values())

    def _compute(self, function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> np.ndarray | None:
        if any(isinstance(one, BlockArray) and one.data is None for one in _arrays_in(args)):
            return None
        with np.errstate(all="ignore"):
            return np.asarray(function(*_as_data(args), **options))

    def _find_shape(
        self, name: str, function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any], inputs: list[Any]
    ) -> tuple[tuple[int, ...], np.dtype]:
        key = (
            name,
            str(options),
            *((one.shape, one.dtype, isinstance(one, BlockArray)) for one in inputs),
            str([one for one in args if not isinstance(one, (BlockArray, Grouped, np.ndarray, list, tuple))]),
        )
        found = self._shapes.get(key)
        if found is None:
            with np.errstate(all="ignore"):
                made = np.asarray(function(*_stand_ins(args), **options))
            found = self._shapes[key] = made.shape, made.dtype
        return found


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array or a number."""
    return getattr(x, "shape", ())


def as_numbers(x: Any) -> Any:
    """The numbers of an argument, in a live program."""
    return x.data if isinstance(x, BlockArray) else x


def _arrays_in(args: Any) -> Any:
    for one in args:
        if isinstance(one, (BlockArray, Grouped, np.ndarray, np.generic)):
            yield one
        elif isinstance(one, (tuple, list)):
            yield from _arrays_in(one)


def _as_data(args: Any) -> Any:
    if isinstance(args, BlockArray):
        return args.data
    if isinstance(args, (tuple, list)):
        return type(args)(_as_data(one) for one in args)
    return args


def _stand_ins(args: Any) -> Any:
    """Arguments with zeros for what is unknown, and for numbers that differ among programs."""
    if isinstance(args, Grouped):
        return np.broadcast_to(np.zeros((), args.dtype), args.shape)
    if isinstance(args, (tuple, list)):
        return type(args)(_stand_ins(one) for one in args)
    return as_zeros(args)


def _bits(dtype: np.dtype) -> int:
    return dtype.itemsize * 8
