"""The machine behind the running programs: a recorder of commands, or memory alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

import numpy as np

from kernbench.tl.language.errors import fail


class Machine(Protocol):
    """What running programs ask of the machine behind them. Tensors are numbers of those of the launch."""

    def program_id(self, axis: int) -> Any: ...

    def num_programs(self, axis: int) -> int: ...

    def load(self, tensor: int, offsets: Any, mask: Any, other: Any, dtype: np.dtype) -> Any: ...

    def store(self, tensor: int, offsets: Any, value: Any, mask: Any) -> None: ...

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
    ) -> Any: ...

    def dot(self, a: Any, b: Any, acc: Any, dtype: np.dtype, compute: Callable[[], Any], bits: int) -> Any: ...

    def enter_loop(self, stages: int) -> None: ...

    def next_iteration(self) -> None: ...

    def leave_loop(self) -> None: ...

    def barrier(self) -> None: ...


class Pointee(NamedTuple):
    """A tensor of a launch that kernels reach by addresses: where it begins in the memory of the host, and its number."""

    start: int
    nbytes: int
    number: int


_machine: ContextVar[tuple[Machine, int, Sequence[Pointee]]] = ContextVar(
    "machine"
)  # greenlets have contexts of their own


def machine() -> Machine:
    """The machine of the running programs. Errors: KernelError outside of kernels."""
    return _of()[0]


def stages() -> int:
    """The stages of loops that do not name them."""
    return _of()[1]


def find_pointee(addresses: np.ndarray) -> Pointee:
    """The tensor that has all of some addresses. Errors: KernelError for addresses of no tensor."""
    least, most = int(addresses.min()), int(addresses.max())
    found = next((one for one in _of()[2] if one.start <= least and most < one.start + one.nbytes), None)
    if found is None:
        fail(
            f"the address {least:#x} became a pointer, and no tensor of torch that lives has it",
            "keep the tensors alive whose addresses a kernel loads, and let all pointers of a block be into one",
        )
    return found


def _of() -> tuple[Machine, int, Sequence[Pointee]]:
    found = _machine.get(None)
    if found is None:
        fail("a function of triton.language was called outside of a kernel", "call it in a function under @triton.jit")
    return found


@contextmanager
def running(on: Machine, stages: int, pointees: Sequence[Pointee] = ()) -> Iterator[None]:
    """Run programs on a machine in the block."""
    token = _machine.set((on, stages, pointees))
    try:
        yield
    finally:
        _machine.reset(token)
