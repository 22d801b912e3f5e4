"""The orchestrator: what the user's function does to the device, step by step: scopes, clusters, tasks and their edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kernbench.pto.needs import DEP_ENTRIES, HEAP_BYTES, MAP_ENTRIES, TASKS
from kernbench.pto.results.record import ORCHESTRATOR, Cause, Phase
from kernbench.pto.runtime.fatal import FatalCode, FatalError, InvalidArgsError
from kernbench.pto.runtime.orchestrator_thread import Backend, OrchestratorThread
from kernbench.pto.runtime.scheduler import DRAIN, SCAN
from kernbench.pto.runtime.spinning import SpinTexts
from kernbench.pto.settings import align
from kernbench.pto.tasks.arguments import check_task, check_together
from kernbench.pto.tasks.task import UNPINNED, Shape, State, Task
from kernbench.pto.tasks.tensors import Overlap, Param, ParamKind, Tensor

if TYPE_CHECKING:
    from kernbench.pto.runtime.device import Device


class Orchestrator(OrchestratorThread):
    """The orchestrator of a device. `body(self)` is the user's function with its arguments."""

    def __init__(self, device: Device, backend: Backend, body: Callable[[Orchestrator], object]) -> None:
        super().__init__(device, backend, body)
        self._scopes: list[list[Task]] = []
        self._scope_clusters: list[list[int]] = []
        self.submitted = 0
        self.end_fs = 0

    # scopes

    def begin_scope(self) -> None:
        """Open a scope. Errors: InvalidArgsError for too deep a nesting."""
        most = self.device.settings.most_scope_depth
        if len(self._scopes) >= most:
            raise InvalidArgsError(f"scopes are nested more than {most} deep; close one first")
        self._scopes.append([])
        self._scope_clusters.append([])

    def end_scope(self) -> None:
        """Close the innermost scope: release its tasks, and its clusters as soon as their tasks are complete."""
        tasks, clusters = self._scopes.pop(), self._scope_clusters.pop()
        self.device.clusters.release(clusters, at_once=self.backend == Backend.HOST or self._needs is not None)
        if self._needs is not None:
            self._needs.release(min((scope[0].id for scope in self._scopes if scope), default=self.device.ring.current))
            return
        if self.backend != Backend.RINGS or not tasks:
            return
        self._spend(Phase.SCOPE, len(tasks) * self.time.scope)
        self._meet()
        for task in tasks:
            task.in_scope = False
            self.device.consume(task)
        self._spend(Phase.SCOPE, self.device.retire(self._now()) * self.time.retire)

    # clusters

    def allocate_cluster(self) -> int:
        """A free cluster. Errors: FatalError if none becomes free in time."""
        clusters = self.device.clusters
        self._spend(Phase.SUBMIT, self.time.cluster)
        if not clusters.has_free:
            self._wait(lambda: clusters.has_free, SpinTexts.clusters())
        cluster = clusters.allocate()
        if self._scope_clusters:
            self._scope_clusters[-1].append(cluster)
        return cluster

    def free_cluster(self, cluster: int) -> None:
        """Give a cluster back. Errors: InvalidArgsError if it is not allocated, or its tasks run."""
        clusters = self.device.clusters
        clusters.group_of(cluster)
        self._spend(Phase.SUBMIT, self.time.cluster)
        self._meet()
        if self.backend != Backend.HOST and self._needs is None and clusters.left(cluster):
            raise InvalidArgsError(
                f"cluster {cluster} is freed while {clusters.left(cluster)} of its tasks are not complete; wait with "
                "pto2_rt_wait_cluster, or let the end of the scope free it"
            )
        clusters.free(cluster)

    def wait_cluster(self, cluster: int) -> None:
        """Wait until all tasks of a cluster are complete. Errors: as `free_cluster`, FatalError."""
        clusters = self.device.clusters
        clusters.group_of(cluster)
        if self.backend != Backend.HOST and self._needs is None:
            self._wait(lambda: not clusters.left(cluster), SpinTexts.group(cluster))

    # contents

    def wait_tensor(self, tensor: Tensor) -> None:
        """Wait until the tasks that write a tensor are complete. Errors: InvalidArgsError for a tensor without memory,
        FatalError if that takes too long."""
        device = self.device
        if not tensor.buffer.address:
            raise InvalidArgsError("the contents of a tensor without memory are read; a task must write it first")
        self._spend(Phase.LOOKUP, self.time.lookup)
        self._meet()
        device.map.last_alive = device.ring.last_alive
        writers = [device.slots[device.ring.slot(entry.producer)] for entry, _ in device.map.lookup(tensor)]
        texts = SpinTexts.tensor(device.settings.tensor_wait_spins)
        self._wait(lambda: all(task.state >= State.COMPLETED for task in writers), texts)

    # submission

    def submit(
        self,
        kernel_id: int,
        worker: int,
        params: Sequence[Param],
        *,
        cluster: int = UNPINNED,
        shape: Shape | None = None,
        block_ns: Sequence[float] = (),
        after: Sequence[Task] = (),
        block_num: int | None = None,
        starts_together: bool = False,
    ) -> Task:
        """Submit a task, in the document's steps 0 to 8; `after` are producers besides those that the map finds; each of
        these costs as much as a parameter that the task reads. With `block_num` it is that many blocks.

        Errors: InvalidArgsError for parameters that the runtime refuses, FatalError for a deadlock, or for more blocks that
        start together than there are cores.
        """
        group = UNPINNED if cluster == UNPINNED else self.device.clusters.group_of(cluster)
        kind, name = self._check(kernel_id, worker, params, group), f"task {self.submitted}"
        if starts_together:
            check_together(self.device, name, kind, block_num or 1)
        self._sync_map()
        task = Task(self._allocate_slot(), self.device.kernels[kernel_id], kind if shape is None else shape, params)
        task.cluster, task.group, task.block_ns = cluster, group, block_ns
        task.blocks, task.is_spmd = block_num or max(len(block_ns), 1), block_num is not None
        task.starts_together = starts_together
        self._enter(task)
        self._copy_params(len(params) or len(after) + 1)
        self._link(task, after)
        self._allocate_outputs(task)
        self._insert(task)
        self._publish(task)
        return task

    def _check(self, kernel_id: int, worker: int, params: Sequence[Param], group: int = UNPINNED) -> Shape:
        return check_task(self.device, f"task {self.submitted}", kernel_id, worker, params, group)

    def _copy_params(self, count: int) -> None:
        """Step 2: initialise the task with its parameters."""
        rings = self.backend == Backend.RINGS
        self._spend(Phase.SUBMIT, count * self.time.copy if rings else self.time.build_task)

    def _sync_map(self) -> None:
        """Step 0: forget what retired tasks wrote."""
        if self.backend == Backend.RINGS:
            freed = self.device.map.sync(self.device.ring.last_alive)
            self._spend(Phase.SUBMIT, self.time.sync + freed * self.time.chain)

    def _allocate_slot(self) -> int:
        """Step 1: a slot of the ring, or a place in the array of the back ends that have none."""
        device, ring = self.device, self.device.ring
        if self.backend != Backend.RINGS:
            most = device.settings.most_static_tasks
            if self.submitted >= most:
                raise InvalidArgsError(
                    f"the graph has more than {most:,} tasks, which {self.backend.value} has room for"
                )
        else:
            if not ring.has_room:
                self._wait(lambda: ring.has_room, SpinTexts.task_ring(self._scopes))
            self._spend(Phase.SUBMIT, self.time.alloc)
            device.record.recycled += ring.current >= ring.window
        self._take(ring.current, TASKS, 1)
        ring.current += 1
        self.submitted += 1
        return ring.current - 1

    def _enter(self, task: Task) -> None:
        """Steps 1b and 2: the task takes its slot, and belongs to the innermost scope."""
        self.device.slots[self.device.ring.slot(task.id)] = task
        if self._scopes and self.backend == Backend.RINGS:
            self._scopes[-1].append(task)
            task.in_scope = True
        if task.group >= 0:
            self.device.clusters.begin_task(task.group)
        for param in task.params:
            if param.tensor is not None and (owner := param.tensor.buffer.owner) is not None:
                owner.users += 1
                task.owners.append(owner)

    def _link(self, task: Task, after: Sequence[Task]) -> None:
        """Steps 3 and 4: find the producers of what the task reads, and become a consumer of each."""
        device, found = self.device, dict.fromkeys(after)
        visited = device.map.visited
        reads = [p for p in task.params if p.kind in (ParamKind.INPUT, ParamKind.INOUT)]
        if (reads or after) and self.backend == Backend.RINGS:
            self._spend(Phase.LOOKUP, (len(reads) + len(after)) * self.time.lookup)
            self._meet()
            device.map.last_alive = device.ring.last_alive
        for param in reads:
            assert param.tensor is not None
            for entry, overlap in list(device.map.lookup(param.tensor)):
                found[device.slots[device.ring.slot(entry.producer)]] = None
                if param.kind == ParamKind.INOUT and overlap == Overlap.COVERED:
                    device.map.remove(entry)
        if self.backend == Backend.RINGS:
            self._spend(Phase.LOOKUP, (device.map.visited - visited) * self.time.chain)
        elif found:
            self._meet()
        for producer in found:
            if producer is not task:
                self._add_consumer(producer, task)

    def _add_consumer(self, producer: Task, task: Task) -> None:
        """Step 4 for one producer. If it is complete, maybe since a wait for an entry, count it at once; else be told when
        it is."""
        device, time = self.device, self.time
        task.fanin_count += 1
        rings = self.backend == Backend.RINGS
        released_fs = producer.take_lock(self.now_fs, time.lock) if self.backend != Backend.HOST else self.now_fs
        self._spend(Phase.LOOKUP, released_fs - self.now_fs + (time.edge if rings else time.build_edge))
        if rings and producer.state < State.COMPLETED and not device.deps.has_room(device.ring.last_alive):
            self._wait(lambda: device.deps.has_room(device.ring.last_alive), SpinTexts.dep_pool())
        if producer.state >= State.COMPLETED:
            task.fanin_refs += 1
            return
        if rings:
            self._take(task.id, DEP_ENTRIES, 1)
            device.deps.allocate(producer.id)
        producer.consumers.append(task)

    def _allocate_outputs(self, task: Task) -> None:
        """Step 5: memory for outputs that have none, packed one behind the other."""
        device, settings = self.device, self.device.settings
        written = [p for p in task.params if p.kind in (ParamKind.OUTPUT, ParamKind.INOUT)]
        device.written |= {p.tensor.buffer.address for p in written if p.tensor is not None}
        buffers = [p.tensor.buffer for p in task.params if p.kind == ParamKind.OUTPUT and p.tensor is not None]
        buffers = list({id(buffer): buffer for buffer in buffers if not buffer.address}.values())
        if not buffers:
            return
        needed = [settings.align_bytes if buffer.is_pipe else buffer.nbytes for buffer in buffers]
        for buffer in buffers:
            buffer.group = task.group
        if self.backend != Backend.RINGS:
            for buffer, nbytes in zip(buffers, needed, strict=True):
                buffer.address = device.memory.allocate(nbytes)
            return
        sizes = [align(nbytes, settings.packed_align_bytes) for nbytes in needed]
        at = device.heap.allocate(sum(sizes))
        if at is None:
            texts = SpinTexts.heap_ring(sum(sizes))
            self._wait(lambda: device.heap.find(sum(sizes)) is not None, texts)
            at = device.heap.allocate(sum(sizes))
        assert at is not None
        self._take(task.id, HEAP_BYTES, sum(sizes))
        self._spend(Phase.SUBMIT, self.time.heap)
        for buffer, size in zip(buffers, sizes, strict=True):
            buffer.address, buffer.owner = device.heap.address(at), task
            at += size
        task.heap_end = device.heap.top

    def _insert(self, task: Task) -> None:
        """Step 6: the task is the latest that writes its outputs."""
        device, written = self.device, list[Tensor]()
        for param in task.params:
            if param.tensor is not None and param.kind in (ParamKind.OUTPUT, ParamKind.INOUT):
                written.append(param.tensor)
        for tensor in written:
            if device.map.is_full and self.backend == Backend.RINGS:
                used = device.map.used
                self._wait(self._map_has_room, SpinTexts.tensor_map())
                self._spend(Phase.SUBMIT, (used - device.map.used) * self.time.chain)
            self._take(task.id, MAP_ENTRIES, 1)
            device.map.insert(tensor, task.id)
        if self.backend == Backend.RINGS:
            self._spend(Phase.SUBMIT, len(written) * self.time.insert)

    def _map_has_room(self) -> bool:
        self.device.map.sync(self.device.ring.last_alive, force=True)
        return not self.device.map.is_full

    # tasks and edges said one by one

    def add(self, kernel_id: int, worker: int, params: Sequence[Param]) -> Task:
        """A task without producers, which is not published. Errors: as `submit`."""
        shape = self._check(kernel_id, worker, params)
        task = Task(self._allocate_slot(), self.device.kernels[kernel_id], shape, params)
        self._enter(task)
        self._spend(Phase.SUBMIT, self.time.build_task)
        self._allocate_outputs(task)
        return task

    def add_edge(self, producer: Task, consumer: Task) -> None:
        """Let a task wait for another. Errors: InvalidArgsError for a task that is published."""
        if consumer.fanin_final:
            raise InvalidArgsError(f"task {consumer.id} gets a producer after it was published; say its edges before")
        self._meet()
        self._add_consumer(producer, consumer)

    def publish(self, task: Task) -> None:
        """Let schedulers see a task. Errors: InvalidArgsError for a task out of turn."""
        if task.id != self.device.published:
            raise InvalidArgsError(
                f"task {task.id} is published before task {self.device.published}; publish in their order"
            )
        self._publish(task)

    def _publish(self, task: Task) -> None:
        """Steps 7 and 8: say how many producers there are, and let schedulers see the task."""
        if self.backend == Backend.RINGS:
            self._spend(Phase.SUBMIT, self.time.publish)
        self._meet()
        device = self.device
        task.fanin_final = True
        if self._needs is not None:
            return
        task.published_by, task.published_fs = device.record.latest.get(ORCHESTRATOR), self.now_fs
        device.published += 1
        if task.fanin_count and task.is_ready and task.state == State.INITIAL:
            task.ready_by, task.ready_fs = task.published_by, task.published_fs
            device.early.append(task)
            device.announce(DRAIN, self.now_fs)
        device.note_occupancy()
        device.announce(SCAN, self.now_fs)

    # the end

    def finish(self) -> None:
        """Say that no task will follow."""
        self._end_phase()
        device = self.device
        device.expected = self.submitted
        self.end_fs = self.now_fs
        device.check_finished(self._now())
        device.announce_end()

    def _now(self) -> Cause:
        """What it does now, as a cause; the host has no phases before the graph is built."""
        return Cause.at(self.device.record.latest.get(ORCHESTRATOR), self.now_fs)

    def fail(self, text: str) -> None:
        """Errors: FatalError, always, with the code of an explicit failure."""
        raise FatalError(FatalCode.EXPLICIT, f"FATAL: {text}")
