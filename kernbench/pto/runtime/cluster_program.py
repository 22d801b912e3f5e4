"""Programs of both core types of a cluster: a function for the cube core, one for each vector core, coupled by pipes.

A function gets a `CoreContext`, whose methods have the names of the tile instructions. It is a greenlet that advances as far as
its rows have run, so the numbers that it loads are those that others have stored by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.dtypes import name_of
from kernbench.pto.kernels import MatMul, Vector, find_route
from kernbench.pto.pipe_ends import ClusterPipes, End
from kernbench.pto.tpipe import GlobalTensor, RecordEvent, TileSplitAxis, TPipe, TPipeError, global_tensor

if TYPE_CHECKING:
    from kernbench.pto.runtime.core import Core
    from kernbench.pto.tasks.task import Task

NO_SPLIT = TileSplitAxis.TILE_NO_SPLIT
MOST_AHEAD = 1 << 12  # operations that a function writes before they run: one that never ends must let time go on


class ClusterProgram:
    """A task on all cores of a cluster: its pipes, its flags, and how many cores have ended."""

    def __init__(self, core: Core, cores: int) -> None:
        self.device = core.device
        self.name = f"cluster{core.place.cluster}"
        self.pipes = ClusterPipes(cores - 1, core.device.settings.flags)
        self._cores = cores
        self._flags: dict[tuple[int, int], int] = {}  # counters by (flag, vector core)

    def flag(self, number: int, vector: int) -> int:
        """The counter of a flag between the cube core and a vector core."""
        if (number, vector) not in self._flags:
            label = f"{self.name} flag {number} of vector core {vector}"
            self._flags[number, vector] = self.device.program.counter(label)
        return self._flags[number, vector]

    def end_core(self) -> bool:
        """A core has ended; returns whether it was the last. Errors: TPipeError as `ClusterPipes.check_end`."""
        self._cores -= 1
        if not self._cores:
            self.pipes.check_end()
        return not self._cores


class CoreContext:
    """What a function of a core may call. Tiles are arrays; all of it takes the time that the machine's parts take."""

    def __init__(
        self, core: Core, program: ClusterProgram, function: Callable[..., object], task: Task, block: int
    ) -> None:
        from greenlet import getcurrent, greenlet

        self._core, self._program, self._device = core, program, core.device
        self._place, self._thread = core.place, core.thread
        self._flag_duration = core.device.program.duration(("pto_runtime.flag", 1))
        self._tag = core.device.program.tag(task.kernel.name, "kernel")
        self.block_id = block
        self._ahead = 0  # operations that have not run
        arguments = [p.value if p.tensor is None else p.tensor.address for p in task.params]
        arguments += task.place(block)
        self._current = getcurrent
        self._greenlet = greenlet(lambda: self._run(function, arguments))

    def _run(self, function: Callable[..., object], arguments: list[Any]) -> None:
        """The function, and then what the destructors of its pipes do: wait for the free flags that are still to come."""
        function(self, *arguments)
        ends = [(pipe, end) for (pipe, _, index), end in self._program.pipes.ends.items() if index == self._place.index]
        for _, end in ends:
            end.has_ended = True
        for pipe, end in ends:
            if end.is_producer:
                for _ in range(end.closed // pipe.period - end.flags):
                    self._await(pipe, 1, self.is_cube)
                    end.flags += 1

    @property
    def is_cube(self) -> bool:
        """Whether this is the cube core."""
        return self._place.index == 0

    def get_subblockid(self) -> int:
        """The number of a vector core in its cluster; 0 for the cube core."""
        return max(self._place.index - 1, 0)

    def resume(self) -> bool:
        """Go on until more rows have to run; returns whether the function has ended."""
        self._greenlet.parent = self._current()
        with np.errstate(all="ignore"):
            self._greenlet.switch()
        return self._greenlet.dead

    def _sync(self) -> None:
        """Let the rows so far run."""
        self._ahead = 0
        self._thread.ask()
        parent = self._greenlet.parent
        assert parent is not None
        parent.switch()

    # data

    def TLOAD(self, source: GlobalTensor, *events: RecordEvent) -> np.ndarray:
        """A tile from global memory."""
        self._transfer(source, events, write=False)
        return source.array(self._device.memory.bytes_at(source.address, source.span_bytes)).copy()

    def TSTORE(self, target: GlobalTensor, tile: np.ndarray, *events: RecordEvent) -> RecordEvent:
        """A tile to global memory."""
        self._transfer(target, events, write=True)
        target.array(self._device.memory.bytes_at(target.address, target.span_bytes))[...] = tile.reshape(target.shape)
        return self._record("TSTORE")

    def _transfer(self, tensor: GlobalTensor, events: tuple[RecordEvent, ...], *, write: bool) -> None:
        self.TSYNC(*events)
        self._program.pipes.check_access(self._place.index, self._place.name, tensor, write=write)
        route, stripe = find_route(self._device.machine, self._place, tensor.address, write=write)
        engine = self._place.engines["out" if write else "in"]
        self._thread.move(route, tensor.nbytes, stripe=stripe, done=self._core.done, hold=engine, tag=self._tag)
        self._thread.wait(self._core.done, 1, take=1)
        self._sync()

    def TSYNC(self, *events: RecordEvent) -> None:
        """Wait for the ends of calls of this core, which have come: each call waits for its end.

        Errors: TPipeError for what is no event of this core.
        """
        for event in events:
            if not isinstance(event, RecordEvent):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TPipeError(
                    f"{self._place.name}: got an event of type {type(event).__name__}; give what TSTORE, TALLOC, TPUSH, TPOP "
                    "or TFREE returns"
                )
            if event.core != self._place.name:
                raise TPipeError(
                    f"{self._place.name}: got the event of the {event.call} of {event.core}; events order the calls of one "
                    "core, and pipes those of two"
                )

    def _record(self, call: str) -> RecordEvent:
        return RecordEvent(self._place.name, call)

    def TMATMUL(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The product of two tiles, in f32."""
        self._compute(MatMul(a.shape[0], a.shape[1], b.shape[1], a.dtype.itemsize))
        return a.astype(np.float32) @ b.astype(np.float32)

    def TVEC(self, function: Callable[..., Any], *tiles: Any, passes: int = 1) -> Any:
        """A function of tiles on the vector engine, which goes `passes` times over the largest of them."""
        largest = max(tile.nbytes for tile in tiles if isinstance(tile, np.ndarray))
        self._compute(Vector(largest, passes))
        return function(*tiles)

    def TADDS(self, tile: np.ndarray, scalar: float) -> np.ndarray:
        """A tile plus a number."""
        return self.TVEC(np.add, tile, tile.dtype.type(scalar))

    def _compute(self, operation: MatMul | Vector) -> None:
        self._device.rows.compute(self._thread, self._place, self._core.done, operation, self._tag)
        self._ahead += 1
        if self._ahead >= MOST_AHEAD:
            self._sync()

    # pipes

    def TALLOC(
        self, pipe: TPipe, tensor: GlobalTensor, split: TileSplitAxis = NO_SPLIT, *events: RecordEvent
    ) -> RecordEvent:
        """Begin to push: wait for a free slot and give the tensor its address."""
        self.TSYNC(*events)
        self._allocate(pipe, tensor, split, ring=0, call="TALLOC")
        return self._record("TALLOC")

    def _allocate(self, pipe: TPipe, tensor: GlobalTensor, split: TileSplitAxis, *, ring: int, call: str) -> None:
        pipes, end = self._program.pipes, self._end(pipe, self.is_cube)
        end.open(pipe, call)
        index = end.count - 1
        if index >= pipe.slot_num and index % pipe.period == 0:
            self._await(pipe, 1, self.is_cube)
            end.flags += 1
        end.check_credit(pipe)
        at = pipe.address(index, ring)
        pipes.take(pipe, self.is_cube, index, at, self._place.name)
        end.place(pipe, tensor, at, self._own_bytes(tensor, split), call)

    def TPUSH(
        self, pipe: TPipe, what: GlobalTensor | np.ndarray, split: TileSplitAxis = NO_SPLIT, *events: RecordEvent
    ) -> RecordEvent:
        """Commit a slot; or, with a tile, allocate one, store the tile and commit it."""
        self.TSYNC(*events)
        if isinstance(what, np.ndarray):
            slot = self._tile_tensor(what.shape, name_of(what.dtype), split)
            self._allocate(pipe, slot, split, ring=pipe.ring(self.is_cube), call="TPUSH")
            self.TSTORE(slot, what)
        self._end(pipe, self.is_cube).close(pipe)
        self._signal(pipe, 0, self.is_cube)
        return self._record("TPUSH")

    def TPOP(
        self, pipe: TPipe, tensor: GlobalTensor | np.ndarray, split: TileSplitAxis = NO_SPLIT, *events: RecordEvent
    ) -> RecordEvent:
        """Begin to read: wait for a full slot and give the tensor its address; or, with a tile, fill it and free the slot."""
        self.TSYNC(*events)
        if isinstance(tensor, np.ndarray):
            tensor[...] = self.TPOP_TILE(pipe, tensor.shape, name_of(tensor.dtype), split)
        else:
            self._pop(pipe, tensor, split, ring=0)
        return self._record("TPOP")

    def _pop(self, pipe: TPipe, tensor: GlobalTensor, split: TileSplitAxis, *, ring: int) -> None:
        end = self._end(pipe, not self.is_cube)
        end.open(pipe, "TPOP")
        self._await(pipe, 0, not self.is_cube)
        at = pipe.address(end.count - 1, ring)
        self._program.pipes.check_pop(pipe, not self.is_cube, end.count - 1, at, self._place.name)
        end.place(pipe, tensor, at, self._own_bytes(tensor, split), "TPOP")

    def TPOP_TILE(
        self, pipe: TPipe, shape: tuple[int, ...], dtype: str = "f32", split: TileSplitAxis = NO_SPLIT
    ) -> np.ndarray:
        """The tile form of TPOP: wait for a full slot, load the tile, give the slot back."""
        slot = self._tile_tensor(shape, dtype, split)
        self._pop(pipe, slot, split, ring=pipe.ring(not self.is_cube))
        tile = self.TLOAD(slot)
        self.TFREE(pipe, slot, split)
        return tile

    def TFREE(
        self,
        pipe: TPipe,
        tensor: GlobalTensor,  # noqa: ARG002
        split: TileSplitAxis = NO_SPLIT,  # noqa: ARG002
        *events: RecordEvent,
    ) -> RecordEvent:
        """End to read: the slot may be used again, and every `period` slots the producer is told."""
        self.TSYNC(*events)
        end = self._end(pipe, not self.is_cube)
        end.close(pipe)
        self._program.pipes.free(pipe, not self.is_cube, end.closed - 1)
        if end.closed % pipe.period == 0:
            self._signal(pipe, 1, not self.is_cube)
            end.flags += 1
        return self._record("TFREE")

    def _end(self, pipe: TPipe, from_cube: bool) -> End:
        return self._program.pipes.end(pipe, from_cube, self._place.index, self._place.name)

    def _own_bytes(self, tensor: GlobalTensor, split: TileSplitAxis) -> int:
        """The offset of this core's part of a slot: vector cores alone share slots."""
        return 0 if self.is_cube else tensor.split_bytes(split, self.get_subblockid())

    def _tile_tensor(self, shape: tuple[int, ...], dtype: str, split: TileSplitAxis) -> GlobalTensor:
        """A tile as it lies in a slot: the rows of columns that are shared by vector cores are as long as those of all."""
        found = global_tensor(0, shape, None, dtype)
        if split == TileSplitAxis.TILE_LEFT_RIGHT and not self.is_cube:
            vectors = self._program.pipes.vectors
            found.stride = (*(vectors * step for step in found.stride[:-1]), found.stride[-1])
        return found

    def _flag_counters(self, pipe: TPipe, kind: int, from_cube: bool) -> list[int]:
        """The counters of a flag: for a cube core of all vector cores, for a vector core its own."""
        number = pipe.flag_id + 2 * pipe.ring(from_cube) + kind
        vectors = range(self._program.pipes.vectors) if self.is_cube else [self.get_subblockid()]
        return [self._program.flag(number, vector) for vector in vectors]

    def _signal(self, pipe: TPipe, kind: int, from_cube: bool) -> None:
        """Set a flag: ready (kind 0) or free (1)."""
        self._thread.delay(self._flag_duration)
        for counter in self._flag_counters(pipe, kind, from_cube):
            self._thread.add(counter)
        self._sync()

    def _await(self, pipe: TPipe, kind: int, from_cube: bool) -> None:
        """Wait for a flag, and take it."""
        for counter in self._flag_counters(pipe, kind, from_cube):
            self._thread.wait(counter, 1, take=1)
        self._sync()
