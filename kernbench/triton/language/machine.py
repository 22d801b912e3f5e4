"""The machine behind the running programs: a recorder of commands, or memory alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

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


_machine: ContextVar[tuple[Machine, int]] = ContextVar("machine")  # greenlets have contexts of their own


def machine() -> Machine:
    """The machine of the running programs. Errors: KernelError outside of kernels."""
    return _of()[0]


def stages() -> int:
    """The stages of loops that do not name them."""
    return _of()[1]


def _of() -> tuple[Machine, int]:
    found = _machine.get(None)
    if found is None:
        fail("a function of triton.language was called outside of a kernel", "call it in a function under @triton.jit")
    return found


@contextmanager
def running(on: Machine, stages: int) -> Iterator[None]:
    """Run programs on a machine in the block."""
    token = _machine.set((on, stages))
    try:
        yield
    finally:
        _machine.reset(token)
