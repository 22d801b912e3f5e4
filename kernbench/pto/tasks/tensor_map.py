"""The map from regions of memory to the tasks that write them, by which dependencies are found.

Entries are in chains by the hash of their buffer's address, the latest first, so a chain is in falling order of task ids. What
belongs to retired tasks is removed in three ways: a look-up cuts the stale end of a chain off; a clean-up frees the entries of
retired tasks, each by the chain of its task; a full pool waits until tasks retire.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernbench.pto.tasks.tensors import Overlap, Tensor

if TYPE_CHECKING:
    from kernbench.pto.settings import RuntimeSettings


class Entry:
    """A region and the task that writes it."""

    __slots__ = ("bucket", "in_bucket", "index", "producer", "tensor")

    def __init__(self, index: int, producer: int, tensor: Tensor, bucket: int) -> None:
        self.index = index  # in the pool
        self.producer = producer  # task id
        self.tensor = tensor
        self.bucket = bucket
        self.in_bucket = True


class TensorMap:
    """A pool of entries in hashed chains. `last_alive` is always the oldest task that is not retired, as last read."""

    def __init__(self, settings: RuntimeSettings) -> None:
        self._settings = settings
        self._chains: dict[int, list[Entry]] = {}  # by bucket; the latest entry is the last
        self._of_task: dict[int, list[Entry]] = {}
        self._free: list[int] = []
        self._next = 0  # of the pool, never given out before
        self._cleaned = 0  # tasks before this one have no entries
        self.last_alive = 0
        self.visited = 0  # entries that look-ups passed, ever

    @property
    def used(self) -> int:
        """The number of entries that are not free."""
        return self._next - len(self._free)

    @property
    def is_full(self) -> bool:
        """Whether there is no entry to give out."""
        return not self._free and self._next >= self._settings.tensormap_pool

    def sync(self, last_alive: int, *, force: bool = False) -> int:
        """Read how far tasks are retired, and clean up if that is far enough; returns how many entries were freed."""
        self.last_alive = last_alive
        if not force and last_alive - self._cleaned <= self._settings.cleanup_interval:
            return 0
        return self._clean(last_alive)

    def _clean(self, last_alive: int) -> int:
        freed = 0
        for task in range(self._cleaned, last_alive):
            for entry in self._of_task.pop(task, ()):
                if entry.in_bucket:
                    self._chains[entry.bucket].remove(entry)
                self._free.append(entry.index)
                freed += 1
        self._cleaned = max(self._cleaned, last_alive)
        return freed

    def lookup(self, tensor: Tensor) -> Iterator[tuple[Entry, Overlap]]:
        """The entries that overlap a region, the latest first. The chain is cut at the first stale entry."""
        chain = self._chains.get(self._bucket(tensor), [])
        for at in range(len(chain) - 1, -1, -1):
            entry = chain[at]
            self.visited += 1
            if entry.producer < self.last_alive:
                for stale in chain[: at + 1]:
                    stale.in_bucket = False
                del chain[: at + 1]
                return
            if entry.tensor.buffer.address == tensor.buffer.address:
                found = tensor.overlap(entry.tensor)
                if found != Overlap.NONE:
                    yield entry, found

    def insert(self, tensor: Tensor, producer: int) -> None:
        """Register a task as the latest that writes a region. There is an entry to give out."""
        if self._free:
            index = self._free.pop()
        else:
            index, self._next = self._next, self._next + 1
        entry = Entry(index, producer, tensor, self._bucket(tensor))
        self._chains.setdefault(entry.bucket, []).append(entry)
        self._of_task.setdefault(producer, []).append(entry)

    def remove(self, entry: Entry) -> None:
        """Take an entry out of its chain; it is freed with its task."""
        if entry.in_bucket:
            entry.in_bucket = False
            self._chains[entry.bucket].remove(entry)

    def _bucket(self, tensor: Tensor) -> int:
        """The bucket of a buffer. The document leaves the hash open; this one, of the public runtime, folds the high bits of
        the address onto the low ones, so that buffers a power of two apart do not share a bucket."""
        key = tensor.buffer.address
        key ^= key >> 16
        key ^= key >> 32
        return key & (self._settings.tensormap_buckets - 1)
