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


class Memory:
    """Programs one after the other on memory alone: the numbers of a launch."""

    def __init__(self, grid: tuple[int, int, int], tensors: Sequence[np.ndarray]) -> None:
        self._grid, self._tensors = grid, tensors
        self.ids: tuple[int, int, int] = (0, 0, 0)

    def program_id(self, axis: int) -> Any:
        """The identity along an axis."""
        return np.int32(self.ids[axis])

    def num_programs(self, axis: int) -> int:
        """The size of the grid along an axis."""
        return self._grid[axis]

    def load(self, tensor: int, offsets: Any, mask: Any, other: Any, dtype: np.dtype) -> Any:
        """The elements where the mask holds, and others elsewhere."""
        held = self._tensors[tensor]
        if mask is None:
            return held[offsets]
        shape = np.broadcast_shapes(np.shape(offsets), np.shape(mask))
        found = np.empty(shape, dtype)
        found[...] = 0 if other is None else other
        holds = np.broadcast_to(mask, shape)
        found[holds] = held[np.broadcast_to(offsets, shape)[holds]]
        return found

    def store(self, tensor: int, offsets: Any, value: Any, mask: Any) -> None:
        """Write elements where the mask holds."""
        held = self._tensors[tensor]
        if mask is None:
            held[offsets] = value
            return
        shape = np.broadcast_shapes(np.shape(offsets), np.shape(mask))
        holds = np.broadcast_to(mask, shape)
        held[np.broadcast_to(offsets, shape)[holds]] = np.broadcast_to(value, shape)[holds]

    def atomic(
        self,
        tensor: int,
        offsets: Any,  # noqa: ARG002
        mask: Any,  # noqa: ARG002
        values: Sequence[Any],  # noqa: ARG002
        dtype: np.dtype,  # noqa: ARG002
        perform: Callable[..., Any],
        *,
        orders: bool,  # noqa: ARG002
    ) -> Any:
        """Do it."""
        return perform(self._tensors[tensor])

    def dot(self, a: Any, b: Any, acc: Any, dtype: np.dtype, compute: Callable[[], Any], bits: int) -> Any:  # noqa: ARG002
        """Compute it."""
        return compute()

    def enter_loop(self, stages: int) -> None:
        """Loops have no time here."""

    def next_iteration(self) -> None:
        """Loops have no time here."""

    def leave_loop(self) -> None:
        """Loops have no time here."""

    def barrier(self) -> None:
        """Programs have no time here."""
