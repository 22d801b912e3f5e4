"""Races of a launch: two programs that meet at an element, one of them writing, without an order between them.

Programs of a grid run at once, in any order. What one wrote another may read or write only after an atomic of the first was
seen by an atomic of the second. An access leaves a *stamp* at each of its elements: its program, how many atomics the program
had made, and its line. Atomics of one element are in order, so they never race with each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernbench.errors import RunError
from kernbench.tl.language.errors import kernel_line, kernel_place, show_place

Stamp = tuple[int, int, tuple[str, int]]


class Races:
    """What programs did to the elements of each tensor, and which accesses are in order."""

    def __init__(self, names: list[str], programs: int) -> None:
        self._names, self._programs = names, programs
        self._stamps: list[Stamp] = [(-1, 0, ("", 0))]
        self._numbers: dict[Stamp, int] = {self._stamps[0]: 0}
        self._written: dict[int, np.ndarray] = {}
        self._read: dict[int, np.ndarray] = {}
        self._clocks: dict[int, dict[int, int]] = {}
        self._released: dict[tuple[int, int], dict[int, int]] = {}
        self.program = 0

    def _clock(self) -> dict[int, int]:
        return self._clocks.setdefault(self.program, {self.program: 1})

    def _stamp(self) -> int:
        stamp = (self.program, self._clock()[self.program], kernel_place())
        number = self._numbers.get(stamp)
        if number is None:
            number = self._numbers[stamp] = len(self._stamps)
            self._stamps.append(stamp)
        return number

    def _shadow(self, of: dict[int, np.ndarray], tensor: int, size: int) -> np.ndarray:
        if tensor not in of:
            of[tensor] = np.zeros(size, np.int32)
        return of[tensor]

    def _check(self, tensor: int, at: np.ndarray, shadow: np.ndarray, now: str, before: str) -> None:
        found = shadow[at]
        if not found.any():
            return
        clock = self._clock()
        for number in np.unique(found):
            program, epoch, place = self._stamps[number]
            if number and program != self.program and clock.get(program, 0) < epoch:
                element = f"element {int(at[found == number][0]):,} of {self._names[tensor]}"
                raise RunError(
                    f"race: program {self.program} {now} {element} at {kernel_line()}, which program {program} {before} at "
                    f"{show_place(place)}; programs run in any order: give each its own elements, or use atomics"
                )

    def read(self, tensor: int, size: int, at: np.ndarray) -> None:
        """A program reads elements. Errors: RunError for a race."""
        if tensor in self._written:
            self._check(tensor, at, self._written[tensor], "reads", "wrote")
        self._shadow(self._read, tensor, size)[at] = self._stamp()

    def write(self, tensor: int, size: int, at: np.ndarray) -> None:
        """A program writes elements. Errors: RunError for a race."""
        written = self._shadow(self._written, tensor, size)
        self._check(tensor, at, written, "writes", "wrote")
        if tensor in self._read:
            self._check(tensor, at, self._read[tensor], "writes", "read")
        written[at] = self._stamp()

    def exchange(self, tensor: int, at: np.ndarray, ordering: str) -> None:
        """A program makes an atomic: it sees what programs before it released there, and releases what it did."""
        clock = self._clock()
        for element in map(int, np.unique(at)):
            place = tensor, element
            released = self._released.setdefault(place, {})
            if ordering != "relaxed":
                for program, epoch in released.items():
                    clock[program] = max(clock.get(program, 0), epoch)
                released.update(clock)
        if ordering != "relaxed":
            clock[self.program] += 1


def inside(name: str, size: int, at: np.ndarray, verb: str) -> None:
    """Errors: RunError for elements outside of a tensor, with how far."""
    if at.size and (int(at.min()) < 0 or int(at.max()) >= size):
        low, high = int(at.min()), int(at.max())
        far = f"{-low:,} before its first element" if low < 0 else f"{high - size + 1:,} past its last element"
        raise OutsideError(f"tl.{verb} reaches {far}, outside of {name} with its {size:,} elements, at {kernel_line()}")


class OutsideError(RunError):
    """A pointer outside of its tensor."""

    code = "bad_address"


def plain(x: Any) -> np.ndarray:
    """Offsets as whole numbers of 64 bits."""
    return np.asarray(x).astype(np.int64, copy=False)
