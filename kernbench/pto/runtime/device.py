"""The device of a run: what orchestrator, schedulers and cores share, on one program of the engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from kernbench.engine.agents import Agents
from kernbench.engine.session import Session
from kernbench.errors import DeadlockError, InputError
from kernbench.machine.families.ascend.places import AscendPlaces
from kernbench.modes import Mode
from kernbench.program.gc_pause import pause_gc
from kernbench.program.program import Program
from kernbench.pto.kernels import Kernel, KernelRows
from kernbench.pto.needs import DEP_ENTRIES, HEAP_BYTES, MAP_ENTRIES, TASKS, Failure, Needs
from kernbench.pto.results.record import Cause, Occupancy, Record, TaskRow
from kernbench.pto.runtime.cluster_program import ClusterProgram, CoreContext
from kernbench.pto.runtime.clusters import ClusterPool
from kernbench.pto.runtime.core import Assigned, Core
from kernbench.pto.runtime.fatal import FatalCode, FatalError
from kernbench.pto.runtime.ready_queues import ReadyQueues
from kernbench.pto.runtime.scheduler import CORES, EXIT, Check, Scheduler, cores_of
from kernbench.pto.settings import SECTION
from kernbench.pto.tasks.memory import GlobalMemory
from kernbench.pto.tasks.rings import UNLIMITED, DepPool, HeapRing, TaskRing
from kernbench.pto.tasks.task import Shape, State, Task
from kernbench.pto.tasks.tensor_map import TensorMap

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.program.thread import Thread
    from kernbench.pto.settings import RuntimeSettings
    from kernbench.pto.tasks.tensors import Buffer


def _unheard(_cause: Cause) -> None:
    pass


class Device:
    """The shared state of a run. `compute_numbers`: kernels run on the bytes of the memory when they end."""

    def __init__(
        self,
        machine: Machine,
        settings: RuntimeSettings,
        kernels: Mapping[int, Kernel],
        *,
        block_dim: int | None = None,
        schedulers: int | None = None,
        compute_numbers: bool = True,
    ) -> None:
        places = machine.places
        assert isinstance(places, AscendPlaces)
        clusters = block_dim or places.ascend.clusters
        if clusters > places.ascend.clusters:
            raise InputError(
                f"block_dim is {clusters}, but machine {machine.name} has {places.ascend.clusters} clusters"
            )
        self.machine, self.settings, self.kernels = machine, settings, kernels
        self.compute_numbers = compute_numbers
        self.program = Program(machine)
        self.agents = Agents(self.program)
        self.rows = KernelRows(self.program)
        self.memory = GlobalMemory(settings.heap_bytes)
        self.written: set[int] = set()  # addresses of buffers that a task was submitted to write
        self.record = Record()
        self.ring = TaskRing(settings.task_window)
        self.heap = HeapRing(settings.heap_bytes, settings.align_bytes)
        self.deps = DepPool(settings.dep_pool)
        self.map = TensorMap(settings)
        self.queues = ReadyQueues(settings.ready_shards, settings.time.lock)
        self.early: deque[Task] = deque()  # what the orchestrator has found ready
        self.cohorts: deque[Task] = deque()  # ready tasks whose blocks start together
        self.slots: dict[int, Task] = {}
        self.published = 0  # tasks that schedulers may see
        self._next_scan = 0
        self._held: deque[Task] = deque()  # retired tasks whose buffers are still in use
        self.completed = 0
        self.expected: int | None = None  # tasks in all, once the orchestrator is done
        self._coupled: dict[tuple[int, int], ClusterProgram] = {}  # by task and block
        self.finished: Cause | None = None  # what completed the last of all
        self._progress_fs = 0
        self.clusters = ClusterPool(clusters)
        self.on_progress: Callable[[Cause], None] = _unheard  # by the orchestrator
        self._switch = self._core_starts()
        self.cores = self._make_cores(places, clusters)
        self.schedulers = self._make_schedulers(clusters, schedulers or settings.aicpu_threads - 1)

    def _core_starts(self) -> list[tuple[int, int]]:
        """The duration and the time (fs) of a core's own start of a task: a later one, and its first."""
        found = [self.program.duration((f"pto_runtime.{name}", 1)) for name in ("switch", "first")]
        return list(zip(found, self.program.duration_fs()[found].tolist(), strict=True))

    def _make_cores(self, places: AscendPlaces, clusters: int) -> list[Core]:
        """The cores in the order of their numbers: all AICs, then the first AIVs of all clusters, then the second."""
        indices = range(1 + places.ascend.aiv_per_cluster)
        found = [places.core(cluster, index) for index in indices for cluster in range(clusters)]
        return [Core(self, index, place) for index, place in enumerate(found)]

    def _make_schedulers(self, clusters: int, count: int) -> list[Scheduler]:
        """Scheduler threads, to which clusters are dealt out in stretches as even as possible."""
        by_cluster = [[core for core in self.cores if core.place.cluster == number] for number in range(clusters)]
        bounds = [clusters * number // count for number in range(count + 1)]
        return [Scheduler(self, number, by_cluster[bounds[number] : bounds[number + 1]]) for number in range(count)]

    # what schedulers and orchestrator share

    def scan_fs(self) -> int | None:
        """From when on a published task can be claimed; None if there is none."""
        if self._next_scan >= self.published:
            return None
        return self.slots[self.ring.slot(self._next_scan)].published_fs

    def claim(self) -> Iterator[Task]:
        """The published tasks that no scheduler has claimed."""
        while self._next_scan < self.published:
            self._next_scan += 1
            yield self.slots[self.ring.slot(self._next_scan - 1)]

    def consume(self, task: Task) -> None:
        """A task that is complete, with its consumers told, is consumed unless its scope holds it."""
        if task.state == State.COMPLETED and not task.in_scope:
            task.state = State.CONSUMED

    def note_progress(self, now_fs: int) -> None:
        """A block is dispatched, or has ended."""
        self._progress_fs = max(self._progress_fs, now_fs)

    def check_progress(self, block: Assigned, core: Core, now_fs: int) -> None:
        """A core is still at a block. Errors: FatalError if schedulers have seen nothing happen for too long."""
        settings = self.settings
        most_fs = settings.scheduler_timeout_spins * settings.time.spin
        if now_fs - self._progress_fs > most_fs:
            task = block.task
            raise FatalError(
                FatalCode.SCHEDULER_TIMEOUT,
                f"FATAL: Scheduler timeout: task {task.id} ({task.kernel.name}) does not end on {core.place.name}: for "
                f"{most_fs / 1e15:g} s no task was dispatched and none ended; see what its kernel waits for, or set "
                f"{SECTION}.scheduler_timeout_spins",
            )

    def retire(self, cause: Cause) -> int:
        """Advance the watermark over consumed tasks, and the tail of the heap behind it; returns over how many.

        The tail stays before buffers that are still in use: the document frees them with the slot of their task, and then a
        task that is late would read what another one wrote.
        """
        ring, first, tail = self.ring, self.ring.last_alive, self.heap.tail
        while ring.last_alive < self.published:
            task = self.slots[ring.slot(ring.last_alive)]
            if task.state != State.CONSUMED:
                break
            if task.heap_end is not None:
                self._held.append(task)
            ring.last_alive += 1
        while self._held and not self._held[0].users:
            end = self._held.popleft().heap_end
            assert end is not None
            self.heap.free_to(end)
        if ring.last_alive > first or self.heap.tail != tail:
            self.note_occupancy()
            self.on_progress(cause)
        return ring.last_alive - first

    def lift_limits(self, failure: Failure) -> Needs:
        """The run has stopped: let the orchestrator go on without limits. Returns what is taken, which it counts on."""
        ring, alive = self.ring, self.ring.last_alive
        self.map.sync(alive, force=True)
        self.deps.has_room(alive)
        held = {TASKS: ring.active, HEAP_BYTES: self.heap.used, DEP_ENTRIES: self.deps.used, MAP_ENTRIES: self.map.used}
        self.slots = {task.id: task for task in self.slots.values()}
        ring.window = UNLIMITED
        size, self.heap = self.heap.size, HeapRing(UNLIMITED, self.settings.align_bytes)
        self.heap.top = self.heap.tail = size  # behind the buffers that are in use
        return Needs(failure, alive, held)

    def complete(self, task: Task, cause: Cause) -> None:
        """A task is complete; the last one ends the run if the orchestrator is done."""
        self.record.tasks.append(TaskRow.of(task))
        self.completed += 1
        self.check_finished(cause)
        self.on_progress(cause)

    def check_finished(self, cause: Cause) -> None:
        """Note the end of the run, if it has come."""
        if self.expected is not None and self.completed >= self.expected and self.finished is None:
            self.finished = cause

    def end_group(self, task: Task, cause: Cause) -> None:
        """A task of a cluster's group is complete."""
        if task.group >= 0:
            self.clusters.end_task(task.group)
            self.on_progress(cause)

    def announce(self, check: Check, seen_fs: int) -> None:
        """A check of any scheduler finds something from a time on."""
        for scheduler in self.schedulers:
            scheduler.consider(check, seen_fs)

    def announce_end(self) -> None:
        """If all is done, schedulers find that out."""
        if self.finished is not None:
            self.announce(EXIT, self.finished.seen_fs)

    def most_together(self, shape: Shape) -> int:
        """How many blocks of a shape can start together at most."""
        clusters = [cluster for scheduler in self.schedulers for cluster in scheduler.clusters]
        return sum(len(cluster) - 1 for cluster in clusters) if shape == Shape.AIV else len(clusters)

    def find_cohort(self) -> list[list[Core]] | None:
        """Idle cores for each block of the first task whose blocks start together, if there are enough by now."""
        if not self.cohorts:
            return None
        task, found = self.cohorts[0], list[list[Core]]()
        for scheduler in self.schedulers:
            for cluster in scheduler.clusters:
                groups = (
                    [[core] for core in cluster[1:]] if task.shape == Shape.AIV else [cores_of(cluster, task.shape)]
                )
                found += [cores for cores in groups if not any(core.load for core in cores)]
        return found[: task.blocks] if len(found) >= task.blocks else None

    def has_idle(self, shape: Shape) -> bool:
        """Whether any thread has idle cores for a shape."""
        return any(scheduler.has_idle(shape) for scheduler in self.schedulers)

    def note_occupancy(self) -> None:
        """Record how full everything is by now. What a thread has changed counts from the call that changes it."""
        self.record.occupancy.append(
            Occupancy(
                self.agents.now_fs, self.ring.active, self.heap.used, self.deps.used, self.map.used, self.queues.count
            )
        )

    # cores

    def begin_core(self, thread: Thread, *, first: bool) -> int:
        """Append the start of a core; returns how long it takes."""
        duration, fs = self._switch[first]
        thread.delay(duration)
        return fs

    def begin_coupled(self, core: Core, block: Assigned) -> CoreContext:
        """The context of a core's function; the cores of one block share a program."""
        task, key = block.task, (block.task.id, block.block)
        if key not in self._coupled:
            self._coupled[key] = ClusterProgram(core, len(CORES[task.shape]))
        function = task.kernel.cube if core.place.index == 0 else task.kernel.vector
        assert function is not None
        return CoreContext(core, self._coupled[key], function, task, block.block)

    def end_coupled(self, block: Assigned) -> None:
        """A core's function has ended."""
        key = (block.task.id, block.block)
        if self._coupled[key].end_core():
            del self._coupled[key]

    def bytes_of(self, buffer: Buffer) -> np.ndarray:
        """uint8[nbytes] the contents of a buffer, which can be written to. Errors: AddressError."""
        if buffer.contents is not None:
            return buffer.contents
        return self.memory.bytes_at(buffer.address, buffer.nbytes)

    def compute(self, block: Assigned) -> None:
        """Run the function of a kernel on its parameters, at the end of its last block."""
        task = block.task
        if not self.compute_numbers or task.kernel.function is None:
            return
        arguments = [
            p.value if p.tensor is None else p.tensor.array(self.bytes_of(p.tensor.buffer)) for p in task.params
        ]
        with np.errstate(all="ignore"):
            task.kernel.function(*arguments, *task.place(block.block))

    # the run

    def run(self, mode: str = Mode.HYBRID) -> Session:
        """Run until nothing can happen any more. Errors: FatalError if tasks are left then."""
        session = Session(self.program, mode)

        def on_ask(thread: int) -> None:
            now_fs = session.ask_fs
            assert now_fs is not None
            self.agents.on_ask(thread, now_fs)

        with pause_gc():
            session.run(on_ask)
        if any(core.context is not None for core in self.cores):  # functions wait for flags that nobody sets
            for program in self._coupled.values():
                program.pipes.check_end()
            self._fail_waiting(session)
        if self.expected is None or self.completed < self.expected:
            self._fail()
        return session

    def _fail_waiting(self, session: Session) -> None:
        """Kernels wait for what never comes. Errors: FatalError, as of schedulers that wait for their ends."""
        try:
            session.check_finished()
        except DeadlockError as error:
            tasks = {core.assigned[0].task for core in self.cores if core.context is not None}
            names = ", ".join(f"{task.id} ({task.kernel.name})" for task in sorted(tasks, key=lambda task: task.id))
            raise FatalError(
                FatalCode.SCHEDULER_TIMEOUT, f"FATAL: Scheduler timeout: task {names} never ends: {error}"
            ) from None

    def _fail(self) -> None:
        left = (self.expected or self.published) - self.completed
        raise FatalError(
            FatalCode.SCHEDULER_TIMEOUT,
            f"FATAL: Scheduler timeout: {left} of {self.expected or self.published} tasks never became ready; they wait for "
            "each other, or for a task that was not published",
        )
