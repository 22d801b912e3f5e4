"""The transfers of a block access: its bytes as contiguous runs, the runs as lines of the memory, the lines as descriptors.

A memory is read and written by whole lines (`hbm.line_bytes`), so the runs of an access grow to lines, and runs that share a
line or whose lines follow each other are one. The DMA engine takes a descriptor at a time: one run, or with
`pe_dma.descriptor_dims` 2 also runs of one length at one distance, such as the rows of a tile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Descriptors(NamedTuple):
    """The descriptors of one access, in the order of their addresses: int64[descriptor] each."""

    start: np.ndarray  # first byte
    length: np.ndarray  # bytes of a run
    stride: np.ndarray  # from one run to the next; of a single run its length
    runs: np.ndarray

    @property
    def nbytes(self) -> np.ndarray:
        """int64[descriptor] the bytes that it moves."""
        return self.length * self.runs

    def take(self, which: np.ndarray) -> Descriptors:
        """Some of them."""
        return Descriptors(*(column[which] for column in self))

    def bytes_before(self, at: np.ndarray) -> np.ndarray:
        """int64[descriptor] how many bytes of each lie before a byte of its tensor."""
        beyond = np.maximum(at - self.start, 0)
        whole, rest = beyond // self.stride, beyond % self.stride
        partial = np.where(whole < self.runs, np.minimum(rest, self.length), 0)
        return np.minimum(whole, self.runs) * self.length + partial


def find_descriptors(byte: np.ndarray, size: int, line_bytes: int, dims: int) -> Descriptors:
    """The descriptors of elements of `size` bytes at int64[element] byte offsets, in any order and with repetitions.

    Offsets are from an address that begins a line. `dims` is 1 or 2.
    """
    start, end = _lines(byte, size, line_bytes)
    length = end - start
    if dims == 1 or len(start) < 2:
        return Descriptors(start, length, length, np.ones_like(start))
    return _join(start, length)


def _lines(byte: np.ndarray, size: int, line_bytes: int) -> tuple[np.ndarray, np.ndarray]:
    """int64[run] first byte and end of the lines that elements touch."""
    line = np.unique(byte // line_bytes)
    if size > 1:
        line = np.union1d(line, (byte + (size - 1)) // line_bytes)
    first = np.flatnonzero(np.diff(line, prepend=-2) != 1)
    last = np.append(first[1:], len(line)) - 1
    return line[first] * line_bytes, (line[last] + 1) * line_bytes


def _join(start: np.ndarray, length: np.ndarray) -> Descriptors:
    """Join runs of one length at one distance: each descriptor takes as many as follow from its first two."""
    gap, alike = np.diff(start), length[1:] == length[:-1]
    steady = np.append(alike[1:] & alike[:-1] & (gap[1:] == gap[:-1]), False)  # whether the next step is as this one
    changes = np.flatnonzero(~steady)
    found: list[tuple[int, int, int, int]] = []
    at = 0
    while at < len(start):
        joins = at < len(start) - 1 and alike[at]
        end = int(changes[np.searchsorted(changes, at)]) + 2 if joins else at + 1
        stride = gap[at] if joins else length[at]
        found.append((int(start[at]), int(length[at]), int(stride), end - at))
        at = end
    return Descriptors(*np.array(found, np.int64).T)
