"""The contents of memory as one PE sees them: memory by virtual address, its TCM, the slots of its messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from kernbench.dtypes import itemsize, numpy_dtype
from kernbench.program.op_semantics import Composite, Multicast, Recv, Ref, Send
from kernbench.replay.deferred import Deferred
from kernbench.replay.message import Message, last_stage, row_of
from kernbench.replay.tiled_composite import TiledComposite
from kernbench.replay.timed_store import TimedStore
from kernbench.replay.virtual_memory import Translate, VirtualMemory

if TYPE_CHECKING:
    from kernbench.program.program import Program


def _in_tcm(node: int, address: int, nbytes: int) -> list[tuple[int, int, int]]:
    return [(node, address, nbytes)]


class PeMemory:
    """Memory and TCM of the PE of a thread; `tcm` is the node of its TCM. Errors of the translation pass through."""

    __slots__ = ("_memory", "_node", "_program", "_store", "_tcm", "_thread", "_translate")

    def __init__(self, store: TimedStore, program: Program, thread: int, translate: Translate, tcm: int) -> None:
        self._store, self._program, self._thread = store, program, thread
        self._translate, self._node = translate, tcm
        self._memory, self._tcm = VirtualMemory(store, translate), VirtualMemory(store, partial(_in_tcm, tcm))

    def over(self, store: TimedStore) -> PeMemory:
        """The same view of another store."""
        return PeMemory(store, self._program, self._thread, self._translate, self._node)

    def read(self, ref: Ref) -> np.ndarray:
        """The elements of a reference; a copy."""
        return (self._tcm if ref.space == "tcm" else self._memory).read(ref.va, ref.shape, ref.dtype)

    def read_later(self, ref: Ref) -> np.ndarray | Deferred[np.ndarray]:
        """The elements of a reference to memory, as `read`; to be made later if nobody has read their block yet."""
        return self._memory.read_later(ref.va, ref.shape, ref.dtype)

    def write(self, va: int, data: np.ndarray) -> None:
        """Write elements to memory, row-major."""
        self._memory.write(va, data)

    def write_tcm(self, address: int, data: np.ndarray) -> None:
        """Write elements to TCM, row-major; nothing at address 0."""
        if address:
            self._tcm.write(address, data)

    def begin_composite(self, note: Composite, plan: int, arrays: Sequence[np.ndarray | None]) -> TiledComposite:
        """Start a composite; `arrays` are its operands that do not stream."""
        raw = self._store.raw
        views = VirtualMemory(raw, self._translate), VirtualMemory(raw, partial(_in_tcm, self._node))
        found = TiledComposite(self._program, plan, self._thread, note, arrays, *views)
        self._store.begin(found)
        return found

    def finish_composite(self, composite: TiledComposite) -> np.ndarray:
        """The result of a composite that has ended."""
        self._store.finish(composite)
        return composite.result

    def send(self, note: Send, plan: int, data: np.ndarray) -> None:
        """Send a copy of elements, to be in their slot when it has been written."""
        find_row = partial(last_stage, self._program, plan)
        self._store.begin(Message(find_row, (self._thread, plan), note.slot, data, self._store.raw))

    def multicast(self, note: Multicast, data: np.ndarray) -> None:
        """Send copies of elements, each to be in its slot when that has been written."""
        for delivery in note.deliveries:
            find_row = partial(row_of, self._program, delivery.thread, delivery.row)
            order = delivery.thread, delivery.row
            self._store.begin(Message(find_row, order, delivery.slot, data, self._store.raw))

    def receive(self, note: Recv) -> np.ndarray:
        """The message in a slot, as elements of the shape and dtype of the note."""
        nbytes = prod(note.shape) * itemsize(note.dtype)
        return self._store.read(*note.slot, nbytes).copy().view(numpy_dtype(note.dtype)).reshape(note.shape)
