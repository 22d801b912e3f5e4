"""The base class of all primitives of `tl`: the runner of commands, the addresses of results, the checks of arguments."""

# pyright: reportUnnecessaryIsInstance=false
# What users write is not checked for types before it runs.

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from sys import _getframe  # pyright: ignore[reportPrivateUsage]
from types import FrameType
from typing import Any, NoReturn, Protocol, cast

import numpy as np

from kernbench.errors import suggest
from kernbench.program.op_semantics import Dot, Load, Math, Multicast, Note, Recv, Send, Store
from kernbench.tl.language.commands import CommandList
from kernbench.tl.language.errors import PrimitiveError, ScratchError, fail
from kernbench.tl.language.handle import WHOLE, CompletionHandle, RecvFuture, TensorHandle
from kernbench.tl.language.operators import HOST_ARRAYS, describe
from kernbench.tl.language.tensor_type import TensorType

ALIGN_BYTES = 16


class Scratch:
    """A bump allocator of 16-byte-aligned TCM addresses; with base 0 (no PE behind the kernel) every address is 0.

    What is given back is used again for results of the same size; when the region is full, for all that fit.
    """

    __slots__ = ("_released", "base", "cursor", "size")

    def __init__(self, base: int, size: int) -> None:
        self.base = base
        self.size = size
        self.cursor = 0
        self._released: dict[int, list[int]] = {}  # addresses, by rounded size

    def take(self, nbytes: int) -> int:
        """Allocate `nbytes` and return their TCM address. Errors: ScratchError (a RuntimeError) when the region is full."""
        if not self.base:
            return 0
        rounded = nbytes + -nbytes % ALIGN_BYTES
        if rounded in self._released:
            return self._pop(rounded)
        if self.cursor + rounded > self.size:
            self._join()
        if self.cursor + rounded <= self.size:
            start = self.base + self.cursor
            self.cursor += rounded
            return start
        size = min((size for size in self._released if size >= rounded), default=0)
        if not size:
            free = max(self.size - self.cursor, *self._released, 0)
            fail(
                f"scratch memory is full: {nbytes} bytes were asked for and {free} of {self.size} are free",
                "use fewer or smaller results, or raise pe.scratch_bytes of the topology",
                ScratchError,
            )
        start = self._pop(size)
        if size > rounded:
            self._released.setdefault(size - rounded, []).append(start + rounded)
        return start

    def _pop(self, size: int) -> int:
        found = self._released[size]
        start = found.pop()
        if not found:
            del self._released[size]
        return start

    def _join(self) -> None:
        """Join free neighbours, and those before the cursor with what is free behind it."""
        free = sorted((start, size) for size, starts in self._released.items() for start in starts)
        self._released = {}
        joined: list[tuple[int, int]] = []
        for start, size in free:
            if joined and sum(joined[-1]) == start:
                start, size = joined[-1][0], joined.pop()[1] + size
            joined.append((start, size))
        if joined and sum(joined[-1]) == self.base + self.cursor:
            self.cursor = joined.pop()[0] - self.base
        for start, size in joined:
            self._released.setdefault(size, []).append(start)

    def holds(self, address: int) -> bool:
        """Whether an address is in the region."""
        return self.base <= address < self.base + self.size

    def give_back(self, address: int, nbytes: int) -> None:
        """Free an address that `take(nbytes)` returned."""
        if self.base:
            self._released.setdefault(nbytes + -nbytes % ALIGN_BYTES, []).append(address)


SCRATCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """The work of a job on the PE: bytes from TCM, work of an engine, bytes to TCM.

    Made once for each type of call (`find_job`, `find_product`) and recognised by identity from then on.
    """

    name: str  # in the op log
    engine: str  # "gemm" or "math", which is also the kind in the op log
    asked: tuple[Any, ...]  # arguments of its cost: (m, k, n, bits) of a product, (function, elements, bits) of math
    read_bytes: int
    write_bytes: int


class CheckedPointer(int):
    """Base of addresses that know their tensor."""

    def check_access(self, nbytes: int, dtype: str | None = None) -> None:
        """Check an access from here on, of elements of a type if one is given.

        Errors: AddressError if the tensor has fewer bytes, or elements of another type.
        """
        raise NotImplementedError


class Runner(Protocol):
    """The receiver of a context's commands; `tile` is the machine's (tile_m, tile_k, tile_n)."""

    tile: tuple[int, int, int]

    def begin_call(self, frame: FrameType, /) -> None: ...

    def delay(self, cycles: int, /) -> None: ...

    def load(self, note: Load, out: TensorHandle, /) -> None: ...

    def store(self, note: Store, source: TensorHandle, /) -> None: ...

    def compute(self, note: Dot | Math, work: Work, inputs: tuple[TensorHandle, ...], out: TensorHandle, /) -> None: ...

    def composite(self, completion: CompletionHandle, /) -> None: ...

    def send(self, note: Send, source: TensorHandle, /) -> None: ...

    def multicast(self, note: Multicast, source: TensorHandle, /) -> None: ...

    def post(self, note: Recv, /) -> None: ...

    def learn(self, note: Recv, /) -> None: ...

    def receive(self, note: Recv, /) -> TensorHandle: ...

    def check_place(self, primitive: str, argument: str, address: int, nbytes: int, space: str, /) -> None: ...

    def wait(self, completion: CompletionHandle, /) -> None: ...

    def read_data(self, handle: TensorHandle, /) -> Any: ...


class ContextCore:
    """State of one kernel on one PE.

    Every call that gives the PE work starts with `dispatch_cycles` of the PE's CPU. With `scratch_base` 0 results have
    no address and cannot be stored. Without a runner, `commands` collects the commands of the kernel.
    """

    def __init__(
        self,
        pe_id: int,
        num_programs: int,
        dispatch_cycles: int = 1,
        runner: Runner | None = None,
        cube_id: int = 0,
        num_cubes: int = 1,
        scratch_base: int = 0,
        scratch_size: int = SCRATCH_BYTES,
    ) -> None:
        self.commands: list[Note] = []
        self._programs = ((index(pe_id), index(num_programs)), (index(cube_id), index(num_cubes)))
        self._dispatch_cycles = index(dispatch_cycles)
        self._runner: Runner = CommandList(self.commands) if runner is None else runner
        self._scratch = Scratch(index(scratch_base), index(scratch_size))
        self._value_count = 0
        self._pending: dict[CompletionHandle, None] = {}  # under way, in the order of their start
        self._futures: dict[RecvFuture, None] = {}  # messages expected and not waited for
        self._resident: dict[int, TensorHandle] = {}  # by address in TCM

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        known = [known for known in dir(type(self)) if not known.startswith("_")]
        fail(f"tl has no primitive {name!r}", suggest(name, known, most=len(known))[2:], PrimitiveError)

    def _dispatch(self) -> None:
        self._runner.begin_call(_getframe(2))
        if self._dispatch_cycles:
            self._runner.delay(self._dispatch_cycles)

    def _begin(self) -> int:
        """Dispatch a call; returns the number of its result value."""
        self._runner.begin_call(_getframe(2))
        if self._dispatch_cycles:
            self._runner.delay(self._dispatch_cycles)
        self._value_count += 1
        return self._value_count

    def _result(self, value: int, result: TensorType) -> TensorHandle:
        addr = self._scratch.take(result.nbytes)
        out = self._resident[addr] = TensorHandle(value, addr, result)
        return out

    def _address(self, primitive: str, ptr: int, nbytes: int = 0, dtype: str | None = None) -> int:
        """A pointer as an integer, for an access to some bytes, of elements of a type if one is given.

        Errors: KernelError, and those of `CheckedPointer`.
        """
        if ptr.__class__ is int:
            return ptr
        if isinstance(ptr, CheckedPointer):
            ptr.check_access(nbytes, dtype)
        if isinstance(ptr, TensorHandle):
            fail(
                f"tl.{primitive} got {ptr!r} where a pointer is meant",
                "give an address, such as a tensor argument of the kernel",
            )
        try:
            return int(index(ptr))
        except TypeError:
            fail(f"tl.{primitive} got the pointer {ptr!r}", "give an address, such as a tensor argument of the kernel")

    def _check_ended(self, primitive: str, x: TensorHandle) -> None:
        """Refuse the result of a composite that is still under way."""
        if x.streamed and x.space == "tcm":
            fail(f"tl.{primitive} got {x!r}, the result of a composite under way", "wait for it with tl.wait")

    def _check_source(self, primitive: str, x: TensorHandle) -> None:
        self._check_tensor(primitive, x)
        if isinstance(x.operand, int) and x.space == "tcm" and not x.addr:
            fail(f"tl.{primitive} got {x!r}, a result without an address", "give the context a scratch_base")

    def _as_tensor(self, primitive: str, x: TensorHandle) -> TensorHandle:
        """A tensor in TCM: the given one, or its elements, loaded, if it is in memory on demand. Errors: KernelError."""
        if isinstance(x, TensorHandle) and x.on_demand:
            return self._fetch(x)
        self._check_tensor(primitive, x)
        return x

    def _fetch(self, x: TensorHandle) -> TensorHandle:
        """A tensor in memory, read as by tl.load."""
        plain = x.swap() if x.transposed else x
        value = self._begin()
        out = TensorHandle(value, plain.addr, plain.type, plain.space, True)
        self._runner.load(Load(value, plain.addr, plain.shape, plain.dtype), out)
        return out.swap() if x.transposed else out

    def _check_tensor(self, primitive: str, x: object) -> None:
        if isinstance(x, WHOLE):
            fail(
                f"tl.{primitive} got {x!r}, a number or a pointer, where a tensor is meant",
                "load what is at a pointer with tl.load",
            )
        if not isinstance(x, TensorHandle):
            remedy = HOST_ARRAYS if isinstance(x, np.ndarray) else "give a tensor, such as one from tl.load"
            fail(f"tl.{primitive} got {describe(cast(object, x))}", remedy)
        if x.streamed:
            self._check_ended(primitive, x)
            fail(
                f"tl.{primitive} got {x!r}, which is not in TCM", "load it with tl.load or stream it with tl.composite"
            )
