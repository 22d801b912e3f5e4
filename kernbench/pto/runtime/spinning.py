"""Waiting by spinning: when a wait looks again, what it says while it is blocked, and when it gives up.

The spins of a wait are not simulated one by one. Nothing that a wait looks at changes but by an act of somebody else, who says
so; then the next spin after that is the one that sees it. How many spins went by follows from the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kernbench.pto.needs import DEP_ENTRIES, HEAP_BYTES, MAP_ENTRIES, TASKS, Failure, Needs
from kernbench.pto.runtime.fatal import FatalCode

if TYPE_CHECKING:
    from kernbench.pto.runtime.device import Device
    from kernbench.pto.tasks.task import Task


@dataclass(frozen=True, slots=True)
class SpinTexts:
    """What a wait says. `warn(device, spins)` is the warning, which ends with `spins`; `fail` says why it gives up."""

    warn: Callable[[Device, int], str]
    fail: Callable[[Device, int], Failure]
    counts_progress: bool = True  # whether the watermark's advance begins the count of spins again
    most_spins: int = 0  # after which it fails; 0: as many as the runtime allows
    warns: bool = True

    @classmethod
    def task_ring(cls, scopes: Sequence[Sequence[Task]]) -> SpinTexts:
        """Of a wait for a slot, inside the given scopes."""

        def warn(device: Device, spins: int) -> str:
            ring = device.ring
            return (
                f"[TaskRing] BLOCKED (Flow Control): current={ring.current}, last_alive={ring.last_alive}, "
                f"active={ring.active}/{ring.window} ({100 * ring.active / ring.window:.1f}%), spins={spins}"
            )

        def fail(device: Device, spins: int) -> Failure:
            active, inner = device.ring.active, len(scopes[-1]) if scopes else 0
            code = FatalCode.SCOPE_DEADLOCK if inner >= device.ring.window - 1 else FatalCode.FLOW_CONTROL
            text = (
                "FATAL: Flow Control Deadlock Detected!\n"
                f"Task Ring is FULL and no progress after {spins} spins.\n"
                f"- Active tasks: {active}\n"
                f"- Window size: {device.ring.window}\n"
                "Root Cause:\n"
                "Tasks cannot transition to CONSUMED state because fanout_count\n"
                "includes 1 for the owning scope, and scope_end() requires the\n"
                "orchestrator to continue — creating a circular dependency.\n"
                "Solution:\n"
            )

            def advise(needs: Needs) -> str:
                least = max(2 * active, needs.most[TASKS] + 1)
                return f"Recommended: {_power_of_two(least)} (at least 2x current active tasks)"

            return Failure(code, text, advise)

        return cls(warn, fail)

    @classmethod
    def heap_ring(cls, nbytes: int) -> SpinTexts:
        """Of a wait for bytes of the heap."""

        def state(device: Device) -> str:
            heap = device.heap
            return f"available={heap.available}, top={heap.top}, tail={heap.tail}"

        def warn(device: Device, spins: int) -> str:
            return f"[HeapRing] BLOCKED: requesting {nbytes} bytes, {state(device)}, spins={spins}"

        def fail(device: Device, spins: int) -> Failure:
            why = (
                f"Heap Ring has no room for {nbytes} bytes and no progress after {spins} spins ({state(device)}).\n"
                f"- Heap size: {device.heap.size}"
            )

            def advise(needs: Needs) -> str:
                # a buffer more than it takes: none crosses the end of the ring, so that much may stay empty there
                least = needs.most[HEAP_BYTES] + needs.largest_bytes
                return _recommend(least, "PTO2_RING_HEAP", f"{needs.most[HEAP_BYTES]} bytes")

            return Failure(FatalCode.HEAP_RING, _deadlock("Heap Ring", why), advise)

        return cls(warn, fail)

    @classmethod
    def dep_pool(cls) -> SpinTexts:
        """Of a wait for an entry of a dependency list."""

        def fail(device: Device, spins: int) -> Failure:
            size = device.deps.size
            why = f"All {size} entries are in use and no progress after {spins} spins."
            advise = partial(_recommend_entries, "PTO2_RING_DEP_POOL", DEP_ENTRIES, size)
            return Failure(FatalCode.DEP_POOL, _deadlock("Dependency Pool", why), advise)

        return cls(
            lambda device, spins: f"[DepPool] BLOCKED: used={device.deps.used}/{device.deps.size}, spins={spins}", fail
        )

    @classmethod
    def tensor_map(cls) -> SpinTexts:
        """Of a wait for an entry of the map of tensors."""

        def fail(device: Device, spins: int) -> Failure:
            used = device.map.used
            why = f"All {used} entries belong to active tasks and no progress after {spins} spins."
            advise = partial(_recommend_entries, "PTO2_TENSORMAP_POOL_SIZE", MAP_ENTRIES, used)
            return Failure(FatalCode.FLOW_CONTROL, _deadlock("TensorMap Pool", why), advise)

        return cls(lambda device, spins: f"[TensorMap] BLOCKED: used={device.map.used}, spins={spins}", fail)

    @classmethod
    def clusters(cls) -> SpinTexts:
        """Of a wait for a free cluster."""
        return cls(
            lambda _device, spins: f"[Cluster] BLOCKED: no free cluster, spins={spins}",
            lambda _device, _spins: Failure(
                FatalCode.FLOW_CONTROL,
                "FATAL: Cluster allocation deadlock — all clusters occupied",
            ),
            counts_progress=False,
        )

    @classmethod
    def group(cls, cluster: int) -> SpinTexts:
        """Of a wait for the tasks of a cluster."""
        return cls(
            lambda _device, spins: f"[Cluster] BLOCKED: tasks of cluster {cluster} run, spins={spins}",
            lambda _device, spins: Failure(
                FatalCode.FLOW_CONTROL,
                f"FATAL: Cluster wait deadlock — the tasks of cluster {cluster} made no progress after {spins} spins",
            ),
        )

    @classmethod
    def tensor(cls, most_spins: int) -> SpinTexts:
        """Of a wait for the contents of a tensor."""
        return cls(
            lambda _device, spins: f"[Tensor] BLOCKED: spins={spins}",
            lambda _device, spins: Failure(
                FatalCode.TENSOR_WAIT,
                f"FATAL: Tensor wait timeout: a producer of the tensor is not complete after {spins} spins",
            ),
            counts_progress=False,
            most_spins=most_spins,
            warns=False,
        )


class Spin:
    """A wait under way. Times in femtoseconds; `since_fs` is when it began, or when progress was last seen."""

    def __init__(self, device: Device, now_fs: int, texts: SpinTexts) -> None:
        settings = device.settings
        self._device, self._texts = device, texts
        self._spin_fs, self._most = settings.time.spin, texts.most_spins or settings.deadlock_spins
        self._every = settings.notify_spins if texts.warns else self._most + 1
        self.since_fs = now_fs
        self._warned = 0
        self._mark = self._progress()
        self._warning = self._describe()

    def _describe(self) -> str:
        """The warning of the state as it is now, without the number of spins at its end."""
        return self._texts.warn(self._device, 0).removesuffix("0")

    def _progress(self) -> tuple[int, int]:
        return self._device.ring.last_alive, self._device.completed

    @property
    def deadline_fs(self) -> int:
        """When it gives up unless there is progress."""
        return self.since_fs + self._most * self._spin_fs

    def next_look(self, now_fs: int) -> int:
        """The first spin that sees what happens now."""
        return self.since_fs + -(-(now_fs - self.since_fs) // self._spin_fs) * self._spin_fs

    def advance(self, now_fs: int, *, met: bool) -> Failure | None:
        """Come to a spin: warn as often as is due. Returns why the wait gives up, if it is one too many and not met."""
        spins = (now_fs - self.since_fs) // self._spin_fs
        while self._warned + self._every <= spins:
            self._warned += self._every
            at = self.since_fs + self._warned * self._spin_fs
            self._device.record.warnings.append((at, f"{self._warning}{self._warned}"))
        self._warning = self._describe()
        if met:
            return None
        if self._texts.counts_progress and self._progress() != self._mark:
            self._mark, self.since_fs, self._warned = self._progress(), now_fs, 0
        elif spins >= self._most:
            return self._texts.fail(self._device, spins)
        return None


def _deadlock(name: str, why: str) -> str:
    """The text of the end of a wait for something of which there is too little; a recommendation follows."""
    return f"FATAL: {name} Deadlock Detected!\n{why}\nSolution:\n"


def _recommend(least: int, variable: str, taken: str) -> str:
    return f"Recommended: {_power_of_two(least)} ({variable}; the open scopes take {taken})"


def _recommend_entries(variable: str, kind: str, used: int, needs: Needs) -> str:
    least = max(needs.most[kind], used + 1)
    return _recommend(least, variable, f"{least} entries")


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()
