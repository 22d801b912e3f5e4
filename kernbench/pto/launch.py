"""One run of an orchestration function: start-up, orchestration beside the schedulers or before them, shut-down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

from kernbench.engine.jit_status import running_s
from kernbench.modes import Mode
from kernbench.pto.results.record import ORCHESTRATOR, Cause, Phase, Record
from kernbench.pto.results.runtime_rows import add_runtime_rows
from kernbench.pto.results.usage import Usage, find_usage
from kernbench.pto.runtime.device import Device
from kernbench.pto.runtime.orchestrator import Backend, Orchestrator
from kernbench.pto.tasks.rings import TaskRing

if TYPE_CHECKING:
    from kernbench.engine import Session
    from kernbench.machine.machine import Machine
    from kernbench.pto.kernels import Kernel
    from kernbench.pto.settings import RuntimeSettings


class BuildMode(IntEnum):
    """When the schedulers of a graph that an AICPU builds begin: when it is built, or beside it."""

    BEFORE_SCHEDULERS = 0
    WITH_SCHEDULERS = 1


Body = Callable[[Orchestrator], object]


@dataclass(frozen=True)
class Outcome:
    """A finished run. Times in femtoseconds; `wall_s` is how long the simulation took."""

    device: Device
    session: Session
    record: Record
    backend: Backend
    orchestrated_fs: int  # when the last task was submitted
    end_fs: int
    wall_s: float

    @cached_property
    def usage(self) -> Usage:
        """How busy the parts of the machine were, found once for all that is said of the run."""
        return find_usage(self)

    @cached_property
    def _with_rows(self) -> tuple[Session, int]:
        return self.session, add_runtime_rows(self)

    @property
    def whole(self) -> Session:
        """The session, with all that threads and cores did among the rows of its program."""
        return self._with_rows[0]

    @property
    def last_row(self) -> int:
        """The row that ends the run, of the op table of `whole`."""
        return self._with_rows[1]


@dataclass(frozen=True, slots=True)
class Launch:
    """What a run needs besides the function."""

    machine: Machine
    settings: RuntimeSettings
    kernels: Mapping[int, Kernel]
    backend: Backend = Backend.RINGS
    block_dim: int | None = None
    mode: str = Mode.HYBRID
    compute_numbers: bool = True
    speed: float = 1.0  # of kernels whose times are given
    build_mode: BuildMode = BuildMode.WITH_SCHEDULERS

    def device(self) -> Device:
        """A device for one run. A graph that the host builds leaves all threads to scheduling."""
        threads = self.settings.aicpu_threads
        device = Device(
            self.machine,
            self.settings,
            self.kernels,
            block_dim=self.block_dim,
            schedulers=threads if self.backend == Backend.HOST else threads - 1,
            compute_numbers=self.compute_numbers,
        )
        device.rows.speed = self.speed
        if self.backend != Backend.RINGS:  # an array, of which no place is used twice
            device.ring = TaskRing(1 << self.settings.most_static_tasks.bit_length())
        return device

    def run(self, body: Body, device: Device | None = None, *, scoped: bool = True) -> Outcome:
        """Run an orchestration function, `scoped` as a whole. Errors: FatalError, and what the function raises."""
        begun = running_s()
        device = device or self.device()
        orchestrator = self.prepare(body, device, scoped=scoped)
        session = device.run(self.mode)
        end_fs = max(scheduler.end_fs for scheduler in device.schedulers)
        return Outcome(device, session, device.record, self.backend, orchestrator.end_fs, end_fs, running_s() - begun)

    def prepare(self, body: Body, device: Device, *, scoped: bool = True) -> Orchestrator:
        """Write the start of a run to the device's program; any interpreter of programs can go on with it."""

        def orchestrate(orchestrator: Orchestrator) -> None:
            if scoped:
                orchestrator.begin_scope()
            body(orchestrator)
            if scoped:
                orchestrator.end_scope()
            orchestrator.finish()
            if self.build_mode == BuildMode.BEFORE_SCHEDULERS:
                self._start_schedulers(device, orchestrator.now_fs)

        orchestrator = Orchestrator(device, self.backend, orchestrate)
        if self.backend == Backend.HOST:
            self._build_first(device, orchestrator)
        else:
            self._start_together(device, orchestrator)
        return orchestrator

    def _start_together(self, device: Device, orchestrator: Orchestrator) -> None:
        """The orchestrator makes the shared memory, a scheduler clears the arrays, the orchestrator sets the pointers."""
        step = self.settings.time.init
        add = device.record.add_phase
        made = Cause.at(add(ORCHESTRATOR, Phase.START_UP, 0, step), step)
        cleared = [add(one.number, Phase.START_UP, step, 2 * step, made) for one in device.schedulers]
        add(ORCHESTRATOR, Phase.START_UP, 2 * step, 3 * step, Cause.at(cleared[0], 2 * step))
        if self.build_mode == BuildMode.WITH_SCHEDULERS:
            self._start_schedulers(device, 3 * step)
        orchestrator.start(3 * step)

    def _build_first(self, device: Device, orchestrator: Orchestrator) -> None:
        """The host builds the whole graph, then the schedulers begin."""
        time = self.settings.time
        orchestrator.build()
        launched = time.run + orchestrator.submitted * time.task
        built = device.record.add_phase(ORCHESTRATOR, Phase.SUBMIT, 0, launched)
        for task in device.slots.values():
            task.published_by, task.published_fs = built, launched
        orchestrator.end_fs = launched
        for scheduler in device.schedulers:
            start = Cause.at(built, launched)
            device.record.add_phase(scheduler.number, Phase.START_UP, launched, launched + time.init, start)
        self._start_schedulers(device, launched + time.init)

    def _start_schedulers(self, device: Device, at_fs: int) -> None:
        for scheduler in device.schedulers:
            scheduler.start(at_fs)
