"""Programs that run while the machine does: each command is issued when its time has come, with the numbers of that time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.triton.lowering.recorder import Recorder, as_numbers, shape_of

if TYPE_CHECKING:
    from kernbench.triton.lowering.script import Script


class LiveRecorder(Recorder):
    """One program, with its numbers. `catch_up(script)` lets the rows so far run and returns an empty script.

    A load takes its numbers when it is issued, a store gives them when it is issued, an atomic when it is back: programs that
    need one order of these make it with atomics.
    """

    _numbers: Sequence[np.ndarray]
    _catch_up: Callable[[Script], Script]

    def follow(self, tensors: Sequence[np.ndarray], catch_up: Callable[[Script], Script]) -> None:
        """Use the elements of the launch's tensors, each flat."""
        self._numbers, self._catch_up = tensors, catch_up

    def read(self, tensor: int, offsets: Any, mask: Any, other: Any, dtype: np.dtype) -> np.ndarray:
        """The numbers in memory now."""
        self.meet()
        held = as_numbers(offsets)
        shape = np.broadcast_shapes(shape_of(held), shape_of(mask) if mask is not None else ())
        at = np.broadcast_to(held, shape)
        if mask is None:
            return _seen(self._numbers[tensor][at], dtype)
        holds = np.broadcast_to(as_numbers(mask), shape)
        found = np.empty(shape, dtype)
        found[...] = 0 if other is None else as_numbers(other)
        found[holds] = _seen(self._numbers[tensor][at[holds]], dtype)
        return found

    def write(self, tensor: int, offsets: Any, value: Any, mask: Any) -> None:
        """Put numbers into memory now."""
        self.meet()
        at = np.asarray(as_numbers(offsets))
        numbers = _seen(np.asarray(as_numbers(value)), self._numbers[tensor].dtype)
        if mask is None:
            self._numbers[tensor][at] = numbers
            return
        shape = np.broadcast_shapes(at.shape, shape_of(mask))
        holds = np.broadcast_to(as_numbers(mask), shape)
        self._numbers[tensor][np.broadcast_to(at, shape)[holds]] = np.broadcast_to(numbers, shape)[holds]

    def exchange(self, tensor: int, perform: Callable[..., Any]) -> np.ndarray:
        """Do an atomic now."""
        self.meet()
        return perform(self._numbers[tensor])

    def meet(self) -> None:
        """Let the rows so far run."""
        self.script = self.issuer.script = self._catch_up(self.script)


def _seen(numbers: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Elements in the type of a pointer of as many bits."""
    return numbers if numbers.dtype == dtype else numbers.view(dtype)
