"""Lowering of live kernels: write the same rows and compute the numbers as the rows run.

Before the data of a load is read, that of a store is written or a composite is computed, the rows so far must have run: an
`ask` ends them and `pause` returns once the simulated time is reached. A load reads memory when it completes; a store is
visible from the moment its transfer is issued; a composite reads and writes its tiles at their own times.
"""

# pyright: reportPrivateUsage=false
# A runner gives handles their numbers.

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import RunError
from kernbench.program.op_semantics import Dot, Load, Math, Multicast, Recv, Ref, Send, Store
from kernbench.replay import numerics
from kernbench.replay.tile_rows import as_reference
from kernbench.tl.language.context_base import Work
from kernbench.tl.language.errors import fail
from kernbench.tl.language.handle import CompletionHandle, TensorHandle
from kernbench.tl.lowering.lower import Lowering

if TYPE_CHECKING:
    from kernbench.replay.tiled_composite import TiledComposite
    from kernbench.tl.pe import PeContext


class LiveLowering(Lowering):
    """A runner that writes rows and computes; `pause` is called with an ask as the thread's last row."""

    def __init__(self, pe: PeContext, pause: Callable[[], object]) -> None:
        super().__init__(pe, pause)
        if pe.memory is None:
            raise RunError(f"a live kernel on {pe.path} was given no memory; run it recorded")
        self._memory = pe.memory
        self._pause = pause
        self._under_way: dict[CompletionHandle, TiledComposite] = {}
        self._run_rows = pe.thread.row_count  # rows that have run

    def load(self, note: Load, out: TensorHandle, /) -> None:
        """Read memory when the load is complete."""
        super().load(note, out)
        self._catch_up()
        out._data = self._memory.read_later(Ref(note.va, note.shape, note.dtype))

    def store(self, note: Store, source: TensorHandle, /) -> None:
        """Write memory when the transfer is issued."""
        transfers = self.access(write=True).find(note.va, source.type.nbytes)
        self.thread.extend(self._schedule)
        self._catch_up()
        self._memory.write(note.va, self._array(source))
        self._move(transfers, b"", note, write=True)

    def compute(self, note: Dot | Math, work: Work, inputs: tuple[TensorHandle, ...], out: TensorHandle, /) -> None:
        """Compute at once."""
        super().compute(note, work, inputs, out)
        out._data = numerics.compute(note, [self._array(x) for x in inputs])
        self._memory.write_tcm(note.addr, out._data)

    def send(self, note: Send, source: TensorHandle, /) -> None:
        """Copy the numbers of the source when there is a slot."""
        in_tcm = isinstance(source.operand, Ref)  # by its address there: the contents change with time
        plan = self._exchange.send(note, source.type, self._catch_up if in_tcm else None)
        self._memory.send(note, plan, self._array(source))

    def multicast(self, note: Multicast, source: TensorHandle, /) -> None:
        """Copy the numbers of the source when there is a slot everywhere."""
        in_tcm = isinstance(source.operand, Ref)
        self._exchange.multicast(note, source.type, self._catch_up if in_tcm else None)
        self._memory.multicast(note, self._array(source))

    def _deliver(self, note: Recv, out: TensorHandle) -> None:
        self._catch_up()
        out._data = self._memory.receive(note)
        if note.out_tcm is not None:
            self._memory.write_tcm(note.out_tcm, out._data)
        if note.out_va is not None:
            self._memory.write(note.out_va, out._data)

    def composite(self, completion: CompletionHandle, /) -> None:
        """Let the tiles be read and written at their times."""
        super().composite(completion)
        arrays = [None if as_reference(x.operand) else self._array(x) for x in completion.inputs]
        self._under_way[completion] = self._memory.begin_composite(completion.note, completion.plan, arrays)

    def wait(self, completion: CompletionHandle, /) -> None:
        """Make the result known when the composite has ended."""
        super().wait(completion)
        self._catch_up()
        result = self._memory.finish_composite(self._under_way.pop(completion))
        if completion.out is not None:
            completion.out._data = result

    def read_data(self, handle: TensorHandle, /) -> np.ndarray:
        """The numbers of a handle. Errors: KernelError for one that is not in TCM yet."""
        if handle.streamed and handle.space != "tcm" and handle._data is None:
            fail(f"the kernel reads the data of {handle!r}, which is not in TCM", "load it with tl.load")
        return self._array(handle)

    def _array(self, handle: TensorHandle) -> np.ndarray:
        if (numbers := handle._numbers()) is not None:
            return numbers
        if isinstance(handle.operand, int):
            fail(f"the kernel reads the data of {handle!r} before its composite has ended", "wait for it with tl.wait")
        return numerics.resolve(handle.operand, {}, self._read)

    def _read(self, ref: Ref) -> np.ndarray:
        return self._memory.read(ref)

    def _catch_up(self) -> None:
        """Let the rows so far run; returns at the simulated time of their end."""
        if self.thread.row_count != self._run_rows:
            self.thread.ask()
            self._pause()
            self._run_rows = self.thread.row_count
