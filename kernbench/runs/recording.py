"""Recordings of benches: one program, run on many machines that differ in figures alone.

Durations are amounts of figures and routes are numbered, so the program that a bench is lowered to is the same on all of
them; writing it takes most of the time of a small run. A bench keeps to this unless it asks the machine first: reads
numbers or times before it issues more, runs its kernels live, or looks at figures of the machine. The first three cannot be
recorded for others, and `record` says None; of the last a recording knows which figures were looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from kernbench.engine.batch import Batch
from kernbench.engine.batch_times import batch_times
from kernbench.engine.session import Session
from kernbench.errors import InputError, KernBenchError, LimitError
from kernbench.host.device.device import Device
from kernbench.host.torch.context import RuntimeContext
from kernbench.limits.run_limits import NO_LIMITS, RunLimits
from kernbench.limits.run_options import RunOptions
from kernbench.modes import Mode
from kernbench.runs.collective_metrics import name_algorithms
from kernbench.runs.metrics import BatchMetrics, run_metrics

if TYPE_CHECKING:
    import numpy as np

    from kernbench.engine.batch import OnRun
    from kernbench.host.device.launch import Launch
    from kernbench.host.memory.tensor_layout import Layout
    from kernbench.limits.run_options import OnProgress
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program
    from kernbench.runs.bench import Bench


@dataclass(frozen=True, slots=True)
class Recording:
    """The program of a bench. `looked_at`: fields of the topology that decided it; it holds where these are the same.

    `collective_algorithm` is as of `RunResult`.
    """

    program: Program
    launches: Sequence[Launch]
    looked_at: frozenset[str]
    collective_algorithm: str | None

    def run(self, machine: Machine, mode: str = "hybrid", on_progress: OnProgress | None = None) -> Session:
        """The finished run on a machine that differs in figures alone. Errors: DeadlockError."""
        session = Session(self.program.on(machine), mode)
        session.run(on_progress=on_progress)
        session.check_finished()
        return session

    def list_metrics(
        self, machine: Machine, mode: str = "hybrid", on_progress: OnProgress | None = None
    ) -> dict[str, Any]:
        """The metrics of that run, as `run_bench` has them. Errors: DeadlockError."""
        return run_metrics(self.run(machine, mode, on_progress), self.launches)


class RecordedGroup:
    """The runs of a recording with launches on many machines at once, which differ from its own in figures alone.

    Errors: ValueError as `Batch`.
    """

    def __init__(self, recording: Recording, mode: str = "hybrid") -> None:
        self._program = recording.program
        self._origins = recording.program.machine.origins()
        self._group = Batch(recording.program, mode)
        self._metrics = BatchMetrics(recording.program, recording.launches)

    def list_metrics(
        self, values: Mapping[str, np.ndarray], on_run: OnRun | None = None, limit_s: float | None = None
    ) -> Iterator[list[dict[str, Any] | None]]:
        """What `Recording.list_metrics` has for the machine of each point, as the points come to their ends, in order.

        `values`: float64[point] of each field that differs. None stands for a point that has to be run alone: it does
        not come to its end. `on_run` and `limit_s` are as of `Batch.run`. Errors: OverflowError for times or transfers beyond
        what can be counted, where they come up.
        """
        times = batch_times(self._program, self._origins, values)
        for runs in self._group.run(times, on_run, limit_s):
            own = {field: column[runs.points] for field, column in values.items()}
            yield self._metrics.list_metrics(runs, times.of(runs.points), own)


def record(
    bench: Bench,
    machine: Machine,
    parameters: Mapping[str, object],
    sips: Sequence[int],
    limits: RunLimits = NO_LIMITS,
) -> Recording | None:
    """Record a bench; None if what it issues may depend on what it finds, or if it fails. Errors: LimitError."""
    if bench.live:
        return None
    machine.origins()  # known before figures are tracked, so asking for it counts as no look
    watched = copy(machine)
    figures = watched.figures = _TrackedFigures(machine.figures)
    device = RecordingDevice(watched, RunOptions(limits=limits))
    torch = RuntimeContext(device, sips, seed=0)
    try:
        bench.call(torch, parameters)
    except LimitError:
        raise
    except KernBenchError:  # a run on its own reports it
        return None
    if device.depends_on_run or not torch.runtime.submitted:
        return None
    torch.runtime.drop_expectations()
    program = device.program.on(machine)
    algorithm = name_algorithms(torch.runtime.collectives)
    return Recording(program, torch.runtime.launches, figures.fields(machine), algorithm)


class RecordingDevice(Device):
    """A device that keeps the program of a bench and runs nothing. It notices if the bench asks for a result of the run."""

    def __init__(self, machine: Machine, options: RunOptions) -> None:
        super().__init__(machine, replace(options, mode=Mode.HYBRID, count_waits=False))
        self.session: Any = _NotRunYet()
        self.ipcq = self._make_queues()  # of that session
        self._kernels.runs_nothing = True
        self._issued_before: int | None = None  # rows, when the host waited first

    @property
    def depends_on_run(self) -> bool:
        """Whether anything was issued after the bench may have learned something from the run."""
        return self.session.asked or self._issued_before not in (None, self._issued())

    def ask(self) -> None:
        """Note that the bench wants a time or a number."""
        self.session.asked = True

    def look(self, layout: Layout, copy: int = 0) -> NoReturn:  # noqa: ARG002
        """Errors: InputError; there are no numbers."""
        self.ask()
        raise InputError(
            f"analytic mode computes no numbers, but the bench reads those of a tensor of shape {layout.shape}; "
            "use mode hybrid"
        )

    def run(self) -> None:
        """Note that the host waits. Nothing runs; what follows may be issued at once, because streams keep their order."""
        if self._issued_before is None:
            self._issued_before = self._issued()

    def _issued(self) -> int:
        return sum(thread.row_count for thread in self.program.threads)


class _NotRunYet:
    """Stands for the run of a device that only records; `asked`: whether the bench wants a time or a number of it."""

    def __init__(self) -> None:
        self.asked = False

    def __getattr__(self, name: str) -> NoReturn:
        self.asked = True
        raise InputError(f"the bench asks for {name!r} of its run, but it is only recorded; use mode hybrid")


class _TrackedFigures(Mapping[str, float]):
    """Figures that record which of them were read; a test for membership does not count."""

    def __init__(self, figures: Mapping[str, float]) -> None:
        self._figures = figures
        self._looked_at: set[str] = set()

    def __getitem__(self, name: str) -> float:
        self._looked_at.add(name)
        return self._figures[name]

    def __contains__(self, name: object) -> bool:
        return name in self._figures

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def fields(self, machine: Machine) -> frozenset[str]:
        """The fields looked at, among those that machines may differ in."""
        origins = machine.origins()
        behind = {name: origin.field for name, origin in origins.figures.items()}
        return frozenset(behind.get(name, name) for name in self._looked_at) & origins.fields
