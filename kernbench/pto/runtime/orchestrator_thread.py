"""The thread of the orchestrator: the user's function as a greenlet, its time, and its waits.

The function's time runs ahead of the run's by what it has spent, and it catches up (`_meet`) before it reads or writes what
schedulers write or read: once before the dependencies of a task, once when the task is published. Free slots and free bytes
only grow while it runs ahead, so what fits early fits at its time too; what does not is tried again then.

Where room for tasks is too little for ever, the function goes on without time and without limits, to count what it takes
(`kernbench.pto.needs`); then the run ends.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

from kernbench.pto.needs import Failure, Needs
from kernbench.pto.results.record import ORCHESTRATOR, Cause, Phase, PhaseRow
from kernbench.pto.runtime.fatal import FatalError
from kernbench.pto.runtime.spinning import Spin, SpinTexts

if TYPE_CHECKING:
    from kernbench.pto.runtime.device import Device


class Backend(Enum):
    """Where the graph is built, with the names of the runtimes."""

    HOST = "host_build_graph"
    AICPU = "aicpu_build_graph"
    RINGS = "tensormap_and_ringbuffer"


class OrchestratorThread:
    """A thread of a device that runs `body(self)`."""

    def __init__(self, device: Device, backend: Backend, body: Callable[[Any], object]) -> None:
        from greenlet import getcurrent, greenlet

        self.device, self.backend = device, backend
        self.time = device.settings.time
        self.now_fs = 0
        self._body = body
        self._current = getcurrent
        self._greenlet = greenlet(self._run)
        self._agent = device.agents.agent("orchestrator", self._step)
        self._spin: Spin | None = None
        self._phase: PhaseRow | None = None  # what it works on
        self._woken: PhaseRow | Cause | None = None  # what it may have waited for
        self._needs: Needs | None = None  # of a function that goes on though the run has stopped
        device.on_progress = self._on_progress

    def start(self, at_fs: int) -> None:
        """Begin at a time."""
        self._agent.call_at(at_fs)

    def build(self) -> None:
        """Run the whole function now, before the device does anything: the host builds the graph."""
        self._step(0)

    def _step(self, now_fs: int) -> None:
        self.now_fs = now_fs
        self._greenlet.parent = self._current()
        self._greenlet.switch()

    def _run(self) -> None:
        try:
            self._body(self)
        except Exception:
            if self._needs is None:
                raise
        if self._needs is not None:
            raise self._needs.error()

    def _spend(self, phase: Phase, fs: int) -> None:
        """Work for some time, without looking at what others do."""
        if self.backend != Backend.HOST and self._needs is None:
            if self._phase is None or self._phase.phase != phase:
                self._end_phase()
                self._phase = self.device.record.begin_phase(ORCHESTRATOR, phase, self.now_fs)
            self.now_fs += fs

    def _end_phase(self) -> None:
        """Record what it has worked on since that began."""
        if self._phase is not None:
            self.device.record.end_phase(self._phase, self.now_fs)
            self._phase = None

    def _meet(self) -> None:
        """Let all others come to the own time."""
        if self.backend != Backend.HOST and self._needs is None and not self.device.agents.go_to(self.now_fs):
            self._agent.call_at(self.now_fs)
            self._pause()

    def _pause(self) -> None:
        parent = self._greenlet.parent
        assert parent is not None
        parent.switch()

    def _wait(self, is_met: Callable[[], bool], texts: SpinTexts) -> None:
        """Spin until a condition is met, or until more room would do. Errors: FatalError after as many spins without progress
        as the runtime allows."""
        self._meet()
        if is_met():
            return
        spins = texts.most_spins or self.device.settings.deadlock_spins
        if self.backend == Backend.HOST or self._needs is not None:  # nobody else does anything meanwhile
            self._stop(texts.fail(self.device, spins))
            return
        self._end_phase()
        device, begun_fs = self.device, self.now_fs
        device.record.blocked += 1
        blocked = device.record.begin_phase(ORCHESTRATOR, Phase.BLOCKED, begun_fs)
        self._woken = blocked.cause
        self._spin = spin = Spin(device, begun_fs, texts)
        while not is_met():
            self._agent.call_at(spin.deadline_fs)
            self._pause()
            failure = spin.advance(self.now_fs, met=is_met())
            if failure is not None:
                self._stop(failure)
                break
        self._spin = None
        blocked.cause = self._woken
        device.record.end_phase(blocked, self.now_fs)

    def _stop(self, failure: Failure) -> None:
        """A wait has given up. If more room would do, the function goes on, to count how much. Errors: FatalError."""
        if self._needs is None:
            if failure.advise is None:
                raise FatalError(failure.code, failure.text)
            self._needs = self.device.lift_limits(failure)
        elif failure.advise is None:
            raise self._needs.error()

    def _take(self, task: int, name: str, amount: int) -> None:
        """A task takes some of what there may be too little of. Errors: FatalError for a function that goes on for too long."""
        if self._needs is not None:
            self._needs.add(task, name, amount)
            if task > self.device.settings.most_static_tasks:
                raise self._needs.error()

    def _on_progress(self, cause: Cause) -> None:
        """Something has changed that the orchestrator may wait for: look at the next spin."""
        if self._spin is not None:
            self._woken = cause
            self._agent.call_at(self._spin.next_look(cause.seen_fs))
