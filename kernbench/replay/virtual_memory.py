"""A view of memory: a store behind an address translation."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from kernbench.dtypes import numpy_dtype
from kernbench.replay.deferred import Deferred, DeferredBlock
from kernbench.replay.store import MemoryStore
from kernbench.replay.timed_store import TimedStore

Translate = Callable[[int, int], list[tuple[int, int, int]]]  # (va, bytes) → (space, address, bytes) in order


class VirtualMemory:
    """Elements by virtual address. Errors of the translation pass through."""

    __slots__ = ("_store", "_translate")

    def __init__(self, store: MemoryStore | TimedStore, translate: Translate) -> None:
        self._store = store
        self._translate = translate

    def segments(self, va: int, nbytes: int, /) -> list[tuple[int, int, int]]:
        """(space, address, bytes) of the pieces of a range, in its order."""
        return self._translate(va, nbytes)

    def read(self, va: int, shape: tuple[int, ...], dtype: str, /) -> np.ndarray:
        """The elements at an address, row-major; a copy."""
        kind = numpy_dtype(dtype)
        pieces = self._translate(va, prod(shape) * kind.itemsize)
        if len(pieces) == 1:
            return self._store.read(*pieces[0]).copy().view(kind).reshape(shape)
        out = np.empty(shape, kind)
        data, at = out.reshape(-1).view(np.uint8), 0
        for space, address, size in pieces:
            data[at : at + size] = self._store.read(space, address, size)
            at += size
        return out

    def read_later(self, va: int, shape: tuple[int, ...], dtype: str, /) -> np.ndarray | Deferred[np.ndarray]:
        """As `read`; of a deferred block that is not made, the elements as they are now, to be made later."""
        kind = numpy_dtype(dtype)
        pieces = self._translate(va, prod(shape) * kind.itemsize)
        if len(pieces) != 1:
            return self.read(va, shape, dtype)
        found = self._store.read_later(*pieces[0])
        if isinstance(found, DeferredBlock):
            return Deferred(lambda: found.make().copy().view(kind).reshape(shape))
        return found.copy().view(kind).reshape(shape)

    def write(self, va: int, data: np.ndarray, /) -> None:
        """Write elements at an address, row-major."""
        flat, at = np.ascontiguousarray(data).reshape(-1).view(np.uint8), 0
        for space, address, size in self._translate(va, data.nbytes):
            self._store.write(space, address, flat[at : at + size])
            at += size
