"""Scheduler threads: the loop over completions, dispatch, scan and drain.

A turn of the loop takes a fixed time while nothing happens: a load of COND for each core, and a look at each queue. So a
thread that has nothing to do need not be simulated turn by turn. `_Loop` says at which instants the loop is at each of its
checks, and the thread is called at the first of them that finds something. Another thread may have been faster; then it goes on
as if it had looked and found nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from kernbench.pto.results.record import ORCHESTRATOR, Cause, Phase
from kernbench.pto.runtime.core import Assigned, Core
from kernbench.pto.runtime.ready_queues import Popped
from kernbench.pto.tasks.task import Shape, State, Task

if TYPE_CHECKING:
    from kernbench.pto.results.record import PhaseRow
    from kernbench.pto.runtime.device import Device

CORES = {Shape.AIC: (0,), Shape.AIV: (1,), Shape.AIV2: (1, 2), Shape.MIX: (0, 1, 2)}
NEVER = 1 << 62
SHAPES = (Shape.MIX, Shape.AIV2, Shape.AIC, Shape.AIV)  # in the order in which the loop looks for them
WIDE = SHAPES[:2]  # take cores of a cluster together; while such a task waits for its cores, no narrower one gets any
SCAN, DRAIN, COHORT, EXIT = "scan", "drain", "cohort", "exit"
Check = int | Shape | str  # a core by its place among the thread's own, the queue of a shape, or another phase


def cores_of(cluster: Sequence[Core], shape: Shape) -> list[Core]:
    """The cores of a cluster that a block of a shape takes; of a vector task the first that may be one."""
    return [cluster[index] for index in CORES[shape] if index < len(cluster)]


class _Loop:
    """When the loop is at each check. `anchor_fs` is when its present turn began, `since_fs` up to when it was busy."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._load_fs = scheduler.time.load
        self.anchor_fs = 0
        self.since_fs = 0
        self.measure()

    def measure(self) -> None:
        """Find how long the parts of a turn take, which depends on which kinds of cores are idle."""
        time, cores = self._scheduler.time, len(self._scheduler.cores)
        look = self._scheduler.shards * time.probe
        self._polls_fs = cores * time.load
        self._aic_fs = self._polls_fs + look * self._scheduler.has_slot(Shape.AIC)
        self._aiv_fs = self._aic_fs + look * self._scheduler.has_slot(Shape.AIV)
        self._scan_fs = self._aiv_fs + time.probe
        self.period_fs = self._scan_fs + time.probe

    def _ends(self, check: Check) -> int:
        """From the begin of a turn to the end of a check."""
        if isinstance(check, Shape):
            return self._aiv_fs if check == Shape.AIV else self._aic_fs
        if isinstance(check, int):
            return (check + 1) * self._scheduler.time.load
        return self._scan_fs if check == SCAN else self.period_fs

    def _begins(self, shape: Shape) -> int:
        return self._aic_fs if shape == Shape.AIV else self._polls_fs

    def when(self, check: Check, from_fs: int) -> int:
        """The first instant after all that was done, and not before `from_fs`, at which a check looks."""
        at = self.anchor_fs + self._ends(check)
        least = max(from_fs, self.since_fs + 1)
        return at if at >= least else at + -(-(least - at) // self.period_fs) * self.period_fs

    def first_end(self, ended: Mapping[int, int]) -> tuple[int, int]:
        """When (fs) the loop is first at a core that has ended, and its place; `ended`: from when on each can be seen.

        As `when` of each of them, written out: there may be many.
        """
        load_fs, period_fs, anchor_fs, since_fs = self._load_fs, self.period_fs, self.anchor_fs, self.since_fs + 1
        first_fs = first = NEVER
        for place, seen_fs in ended.items():
            at, least = anchor_fs + (place + 1) * load_fs, max(seen_fs, since_fs)
            if at < least:
                at += -(-(least - at) // period_fs) * period_fs
            if at < first_fs:
                first_fs, first = at, place
        return first_fs, first

    def go_on(self, check: Check, now_fs: int, *, again: bool = False) -> None:
        """The work of a check has ended: the loop goes on behind it, or with the same check again."""
        self.measure()
        self.since_fs = now_fs
        self.anchor_fs = now_fs - (self._begins(check) if again and isinstance(check, Shape) else self._ends(check))


class Scheduler:
    """A scheduler thread with its cores, by cluster."""

    def __init__(self, device: Device, number: int, clusters: Sequence[Sequence[Core]]) -> None:
        self.device = device
        self.number = number
        self.time, self.shards = device.settings.time, device.settings.ready_shards
        self._slots = device.settings.core_slots
        self.clusters = clusters
        self.cores = [core for index in (0, 1) for cluster in clusters for core in (cluster[:1], cluster[1:])[index]]
        self._lane_cores = {
            Shape.AIC: [cluster[0] for cluster in clusters],
            Shape.AIV: [core for cluster in clusters for core in cluster[1:]],
        }
        self._places = {core.index: place for place, core in enumerate(self.cores)}
        for core in self.cores:
            core.scheduler = self
        self.agent = device.agents.agent(f"scheduler{number}", self._step)
        self._room: dict[tuple[Shape, int], bool] = {}  # what `_fits` has found since a core's load has changed
        self._ended: dict[int, int] = {}  # places of cores with something in COND, and from when on (fs) it shows
        self._loop = _Loop(self)
        self._due: Check = EXIT
        self._completing: tuple[int, Task, PhaseRow] | None = (
            None  # (place of the core, task) whose completion is under way
        )
        self._start: Cause = Cause(None, 0, 0)  # of the loop
        self.running = False
        self.end_fs = 0

    def start(self, now_fs: int) -> None:
        """Enter the loop, since the orchestrator says so."""
        self.running = True
        self._start = Cause.at(self.device.record.latest[ORCHESTRATOR], now_fs)
        self._loop.anchor_fs = self._loop.since_fs = now_fs
        self.replan()

    def on_end(self, core: Core) -> None:
        """COND of a core will show that a block has ended."""
        place = self._places[core.index]
        self._ended[place] = core.fins[0][0].seen_fs
        self.consider(place, self._ended[place])

    # when to look

    def replan(self) -> None:
        """Be called when the loop comes to the first check that finds what is known now."""
        if not self.running or self._completing:
            return
        first_fs = NEVER
        if self._ended:
            first_fs, self._due = self._loop.first_end(self._ended)
        when = self._loop.when
        for check, seen_fs in self._known():
            at = when(check, seen_fs)
            if at < first_fs:
                first_fs, self._due = at, check
        if first_fs == NEVER:
            self.agent.cancel()
        else:
            self.agent.call_at(first_fs)

    def consider(self, check: Check, seen_fs: int) -> None:
        """A check finds something from a time on: be called then, if nothing is due before."""
        if not self.running or self._completing or (isinstance(check, Shape) and not self._can_take(check)):
            return
        at, due = self._loop.when(check, seen_fs), self.agent.due_fs
        if due is None or at < due:
            self._due = check
            self.agent.call_at(at)

    def _can_take(self, shape: Shape) -> bool:
        return not self.device.cohorts and (self.has_room(shape) or self.device.clusters.in_use)

    def _known(self) -> Iterator[tuple[Check, int]]:
        """Each check but those of cores that will find something, and from when on."""
        device = self.device
        if device.cohorts:  # nothing else is dispatched until these have their cores
            if device.find_cohort():
                yield COHORT, device.cohorts[0].ready_fs
        elif device.queues.count:
            in_use = device.clusters.in_use
            for shape in SHAPES:
                seen_fs = device.queues.seen_fs(shape)
                if seen_fs is not None and self.has_room(shape):
                    yield shape, seen_fs
                if in_use and (seen_fs := self._pinned_fs(shape)) is not None:
                    yield shape, seen_fs
        if (seen_fs := device.scan_fs()) is not None:
            yield SCAN, seen_fs
        if device.early:
            yield DRAIN, device.early[0].ready_fs
        if device.finished is not None:
            yield EXIT, device.finished.seen_fs

    def _pinned_fs(self, shape: Shape) -> int | None:
        """From when on a task that is pinned to one of the own clusters can be dispatched."""
        seen = [
            self.device.queues.pinned_fs(number, shape)
            for number, cluster in self._numbered()
            if self._lanes(cluster, shape, self._slots)
        ]
        return min((fs for fs in seen if fs is not None), default=None)

    def _numbered(self) -> Iterator[tuple[int, Sequence[Core]]]:
        return ((cluster[0].place.cluster, cluster) for cluster in self.clusters)

    # where there is room

    def has_slot(self, shape: Shape) -> bool:
        """Whether a core of the own clusters has a free slot for a shape, be it behind another block."""
        return self._fits(shape, self._slots)

    def has_idle(self, shape: Shape) -> bool:
        """Whether one of the own clusters has idle cores for a shape."""
        return self._fits(shape, 1)

    def _fits(self, shape: Shape, slots: int) -> bool:
        found = self._room.get((shape, slots))
        if found is None:
            found = self._room[shape, slots] = self._look_for_room(shape, slots)
        return found

    def _look_for_room(self, shape: Shape, slots: int) -> bool:
        if shape in self._lane_cores:
            return any(core.load < slots for core in self._lane_cores[shape])
        return any(self._lanes(cluster, shape, slots) for cluster in self.clusters)

    def has_room(self, shape: Shape) -> bool:
        """Whether the thread would dispatch a shape: to an idle core, or behind another block if no thread has an idle one.

        The public runtime looks at the cores of the others in this way, and puts tasks of whole clusters before all others.
        """
        if shape not in WIDE and self.device.queues.has(WIDE):
            return False
        if self.has_idle(shape):
            return True
        return self._slots > 1 and self.has_slot(shape) and not self.device.has_idle(shape)

    def _lanes(self, cluster: Sequence[Core], shape: Shape, slots: int) -> list[Core] | None:
        """The cores of a cluster for a block, if each holds fewer than `slots` blocks."""
        if shape == Shape.AIV:
            return next(([core] for core in cluster[1:] if core.load < slots), None)
        cores = cores_of(cluster, shape)
        return cores if all(core.load < slots for core in cores) else None

    def _find_room(self, shape: Shape, pinned: int) -> list[Core] | None:
        """The cores for a block: idle ones before those that would let it wait, low numbers first."""
        most = self._slots if self._slots > 1 and not self.device.has_idle(shape) else 1
        for slots in range(1, most + 1):
            for number, cluster in self._numbered():
                if pinned < 0 or number == pinned:
                    found = self._lanes(cluster, shape, slots)
                    if found:
                        return found
        return None

    # what to do

    def _step(self, now_fs: int) -> None:
        """The loop is at the check that was planned, or a completion has been worked out."""
        if self._completing:
            self._resolve(now_fs)
        elif isinstance(self._due, Shape):
            self._dispatch(self._due, now_fs)
        elif isinstance(self._due, int):
            self._complete(self._due, now_fs)
        elif self._due == SCAN:
            self._scan(now_fs)
        elif self._due == DRAIN:
            self._drain(now_fs)
        elif self._due == COHORT:
            self._start_together(now_fs)
        else:
            self._exit(now_fs)
        self.replan()

    def _complete(self, place: int, now_fs: int) -> None:
        """Phase 1: COND says that a core has ended a block; the last block completes its task."""
        core, time = self.cores[place], self.time
        ended, block = core.fins.popleft()
        phase = self._begin(Phase.COMPLETE, now_fs, ended)
        core.freed = Cause.at(phase, now_fs)
        if core.fins:
            self._ended[place] = core.fins[0][0].seen_fs
        else:
            del self._ended[place]
        core.load -= 1
        self._room.clear()
        if self.device.cohorts:
            self.device.announce(COHORT, now_fs)
        task = block.task
        task.blocks_done += 1
        if task.blocks_done < task.blocks * len(CORES[task.shape]):
            self._spend(phase, now_fs + time.notify, place)
            return
        task.state = State.COMPLETED
        self.device.end_group(task, Cause.at(phase, now_fs))
        links = len(task.consumers) + len(task.owners)
        end_fs = task.take_lock(now_fs, time.lock) + time.complete + links * time.notify
        self._completing = place, task, phase
        self.agent.call_at(end_fs)

    def _resolve(self, now_fs: int) -> None:
        """The rest of a completion: consumers may be ready, the task consumed, slots and buffers free."""
        assert self._completing is not None
        (place, task, phase), device, at = self._completing, self.device, now_fs
        self._completing = None
        for consumer in task.consumers:
            consumer.fanin_refs += 1
            if consumer.is_ready and consumer.state == State.INITIAL:
                at = self._push(consumer, at)
        for owner in task.owners:
            owner.users -= 1
        task.consumers, task.owners, task.params = [], [], ()
        device.consume(task)
        device.complete(task, Cause.at(phase, now_fs))
        at += device.retire(Cause.at(phase, at)) * self.time.retire
        self._spend(phase, at, place)
        device.announce_end()

    def _push(self, task: Task, now_fs: int) -> int:
        """Put a ready task into the own shard; returns when that is done."""
        task.state, task.ready_fs, task.ready_by = State.READY, now_fs, self.device.record.latest[self.number]
        if task.starts_together:
            self.device.cohorts.append(task)
            self.device.announce(COHORT, now_fs + self.time.push)
            return now_fs + self.time.push
        seen_fs = self.device.queues.push(task, self.number, now_fs)
        self.device.announce(task.shape, seen_fs)
        return seen_fs + self.time.push

    def _dispatch(self, shape: Shape, now_fs: int) -> None:
        """Phase 2: take a task and write its blocks to the registers of cores that have room; the rest queues again."""
        popped = self._pop(shape, now_fs)
        if popped is None:
            return
        task, time, device = popped.task, self.time, self.device
        phase = self._begin(Phase.DISPATCH, now_fs, Cause.at(task.ready_by, task.ready_fs))
        at = popped.free_fs + time.pop + popped.steals * time.steal
        while task.next_block < task.blocks and (cores := self._find_room(shape, task.cluster)):
            for core in cores:
                at += time.payload + time.store
                self._room.clear()
                core.accept(Assigned(task, task.next_block, at, at + time.doorbell, phase), now_fs)
            task.next_block += 1
        if task.next_block < task.blocks:
            device.announce(shape, device.queues.push(task, self.number, popped.free_fs))
        self._spend(phase, at, shape, again=True)
        if self._slots > 1:
            self._announce_queue(shape)
        if shape in WIDE and not device.queues.has(WIDE):
            self._announce_queue(Shape.AIC)
            self._announce_queue(Shape.AIV)

    def _announce_queue(self, shape: Shape) -> None:
        """Threads that could not take the tasks of a shape may do so now."""
        if (seen_fs := self.device.queues.seen_fs(shape)) is not None:
            self.device.announce(shape, seen_fs)

    def _start_together(self, now_fs: int) -> None:
        """Dispatch all blocks of a task at once, to cores of all threads: payloads first, then one register each."""
        device, time = self.device, self.time
        cores = device.find_cohort()
        if cores is None:
            return
        task = device.cohorts.popleft()
        starts = [(block, core) for block, each in enumerate(cores) for core in each]
        freed = [core.freed for _, core in starts if core.freed is not None]
        last = max([Cause.at(task.ready_by, task.ready_fs), *freed], key=attrgetter("seen_fs"))
        phase = self._begin(Phase.DISPATCH, now_fs, last)
        at = now_fs + time.lock + time.pop + len(starts) * time.payload
        for block, core in starts:
            at += time.store
            core.accept(Assigned(task, block, at, at + time.doorbell, phase), now_fs)
        task.next_block = task.blocks
        for scheduler in device.schedulers:
            scheduler.forget_room()
        self._spend(phase, at, COHORT)
        for shape in SHAPES:
            self._announce_queue(shape)

    def forget_room(self) -> None:
        """Another thread has given work to own cores."""
        self._room.clear()

    def _pop(self, shape: Shape, now_fs: int) -> Popped | None:
        queues = self.device.queues
        if self.device.cohorts:
            return None
        if self.device.clusters.in_use:
            for number, cluster in self._numbered():
                if self._lanes(cluster, shape, self._slots) and (found := queues.pop_pinned(number, shape, now_fs)):
                    return found
        return queues.pop(shape, self.number, now_fs) if self.has_room(shape) else None

    def _scan(self, now_fs: int) -> None:
        """Phase 3: claim the tasks that were published; those without producers are ready."""
        claimed = list(self.device.claim())
        if not claimed:
            return
        phase = self._begin(Phase.SCAN, now_fs, Cause.at(claimed[0].published_by, claimed[0].published_fs))
        at = now_fs
        for task in claimed:
            at += self.time.scan
            if task.fanin_count == 0 and task.state == State.INITIAL:
                at = self._push(task, at)
        if at > now_fs:
            self._spend(phase, at, SCAN)

    def _drain(self, now_fs: int) -> None:
        """Phase 4: take what the orchestrator has found ready."""
        at, early = now_fs, self.device.early
        if not early:
            return
        phase = self._begin(Phase.DRAIN, now_fs, Cause.at(early[0].ready_by, early[0].ready_fs))
        while early:
            task = early.popleft()
            at += self.time.lock
            if task.state == State.INITIAL:
                at = self._push(task, at)
        if at > now_fs:
            self._spend(phase, at, DRAIN)

    def _exit(self, now_fs: int) -> None:
        """All is done: write the signal to exit to each core, and end."""
        self.running = False
        self.end_fs = now_fs + len(self.cores) * self.time.store + self.time.init
        assert self.device.finished is not None
        self.device.record.end_phase(self._begin(Phase.SHUT_DOWN, now_fs, self.device.finished), self.end_fs)

    def _begin(self, phase: Phase, now_fs: int, cause: Cause) -> PhaseRow:
        """Begin a phase; nothing is a cause before the loop began."""
        start = self._start
        later = cause if cause.seen_fs >= start.seen_fs else start
        return self.device.record.begin_phase(self.number, phase, now_fs, later)

    def _spend(self, phase: PhaseRow, end_fs: int, check: Check, *, again: bool = False) -> None:
        self.device.record.end_phase(phase, end_fs)
        self._loop.go_on(check, end_fs, again=again)
