"""What a kernel did, entry by entry, until rows are made of it: plain integers, as many in each entry."""

from __future__ import annotations

from struct import pack_into
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from kernbench.tanto.cores.storage import PipePart
    from kernbench.tanto.language.scope import Unit

Row = tuple[int, int]  # thread, and the entry of it whose last row is meant


class Issuer(Protocol):
    """A kernel whose lines issue rows, or its script: the operations of its processor so far, and the line under way."""

    c: int
    line: int
    unit: Unit


class KernelLog:
    """The entries of a kernel, `width` numbers each. `log` is the same list from the first entry to the last."""

    width: int

    def __init__(self, thread: int) -> None:
        self.id = thread
        self.kernel: Issuer  # set before the first entry
        self.log: list[int] = []
        self.pipes: dict[int, PipePart] = {}  # those of the kernel, by id
        self._entries = pack_numbers([], self.width)

    def follow(self, kernel: Issuer) -> None:
        """Begin, or begin again, with the lines and operations of a kernel."""
        self.kernel = kernel
        self.log.clear()

    def close(self) -> None:
        """End the log. Kept as lists, the numbers of all kernels would fill memory."""
        self._entries = pack_numbers(self.log, self.width)
        self.log.clear()

    def take_entries(self) -> np.ndarray:
        """int64[entry, width] of a closed log, which then is gone."""
        found, self._entries = self._entries, pack_numbers([], self.width)
        return found

    @property
    def count(self) -> int:
        """The number of entries, to which `rewind` goes back."""
        return len(self.log) // self.width

    def rewind(self, count: int) -> None:
        """Take back the entries after so many."""
        del self.log[count * self.width :]

    def next_row(self) -> Row:
        """The row that will be added next."""
        return self.id, self.count

    def last_row(self) -> Row:
        """The row that was added last."""
        return self.id, self.count - 1


def pack_numbers(numbers: list[int], width: int) -> np.ndarray:
    """int64[row, width] of numbers, one row after the other; numpy takes three times as long to read a list."""
    words = bytearray(8 * len(numbers))
    pack_into(f"{len(numbers)}q", words, 0, *numbers)
    return np.frombuffer(words, np.int64).reshape(-1, width)
