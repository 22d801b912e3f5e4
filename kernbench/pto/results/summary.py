"""What a run of task graphs says: span, utilisation, stages, and where the threads' time went."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kernbench.pto.results.record import ORCHESTRATOR, Occupancy, Phase, Record

if TYPE_CHECKING:
    import polars

    from kernbench.pto.launch import Outcome

FS_PER_US = 1e9


@dataclass(frozen=True, slots=True)
class Stage:
    """All tasks of one name. Times in microseconds: the first start, the last end, and the sum over cores."""

    name: str
    core: str
    tasks: int
    blocks: int
    start_us: float
    end_us: float
    busy_us: float
    mean_us: float  # of a block on one core

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name,
            "core": self.core,
            "tasks": self.tasks,
            "blocks": self.blocks,
            "start_us": self.start_us,
            "end_us": self.end_us,
            "span_us": self.end_us - self.start_us,
            "busy_us": self.busy_us,
            "mean_us": self.mean_us,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a run. `span_us` is from the first start of a kernel to the last end of one."""

    span_us: float
    run_us: float
    orchestrated_us: float
    tasks: int
    blocks: int
    blocked: int
    recycled: int
    utilisation: dict[str, float]
    stages: tuple[Stage, ...]
    threads: dict[str, dict[str, float]]  # by thread: microseconds by phase
    peaks: dict[str, int]  # the most that rings, pools and queues ever held
    gap_us: float | None  # from the end of a core's block to the start of its next, the median

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "span_us": self.span_us,
            "run_us": self.run_us,
            "orchestrated_us": self.orchestrated_us,
            "tasks": self.tasks,
            "blocks": self.blocks,
            "blocked": self.blocked,
            "recycled_slots": self.recycled,
            "utilisation": self.utilisation,
            "core_gap_us": self.gap_us,
            "peaks": self.peaks,
            "stages": [stage.to_dict() for stage in self.stages],
            "threads": self.threads,
        }


def summarise(outcome: Outcome) -> Summary:
    """The figures of a run."""
    record, cores = outcome.record, outcome.device.cores
    first = min((row.start_fs for row in record.blocks), default=0)
    last = max((row.end_fs for row in record.blocks), default=0)
    return Summary(
        span_us=(last - first) / FS_PER_US,
        run_us=outcome.end_fs / FS_PER_US,
        orchestrated_us=outcome.orchestrated_fs / FS_PER_US,
        tasks=len(record.tasks),
        blocks=len({(row.task, row.block) for row in record.blocks}),
        blocked=record.blocked,
        recycled=record.recycled,
        utilisation=_utilisation(outcome, last - first),
        stages=_stages(outcome),
        threads=_threads(outcome),
        peaks=_peaks(record),
        gap_us=_median_gap([(row.core, row.start_fs, row.end_fs) for row in record.blocks], len(cores)),
    )


def _utilisation(outcome: Outcome, span_fs: int) -> dict[str, float]:
    """The busy share of the cores of each type within the span."""
    busy, count = defaultdict[str, int](int), defaultdict[str, int](int)
    for core in outcome.device.cores:
        count[core.place.type] += 1
    for row in outcome.record.blocks:
        busy[outcome.device.cores[row.core].place.type] += row.end_fs - row.start_fs
    return {kind: busy[kind] / (count[kind] * span_fs) if span_fs else 0.0 for kind in sorted(count)}


def _stages(outcome: Outcome) -> tuple[Stage, ...]:
    """The stages in the order of their first starts."""
    names = {row.task: row.name for row in outcome.record.tasks}
    types = {core.index: core.place.type for core in outcome.device.cores}
    rows = defaultdict[str, list[Any]](list)
    for row in outcome.record.blocks:
        rows[names[row.task]].append(row)
    found = [
        Stage(
            name,
            "+".join(sorted({types[row.core] for row in each})),
            len({row.task for row in each}),
            len({(row.task, row.block) for row in each}),
            min(row.start_fs for row in each) / FS_PER_US,
            max(row.end_fs for row in each) / FS_PER_US,
            sum(row.end_fs - row.start_fs for row in each) / FS_PER_US,
            sum(row.end_fs - row.start_fs for row in each) / len(each) / FS_PER_US,
        )
        for name, each in rows.items()
    ]
    return tuple(sorted(found, key=lambda stage: (stage.start_us, stage.name)))


def _peaks(record: Record) -> dict[str, int]:
    names = Occupancy._fields[1:]
    return {name: max((getattr(row, name) for row in record.occupancy), default=0) for name in names}


def _threads(outcome: Outcome) -> dict[str, dict[str, float]]:
    """Microseconds of each thread by phase; what is left of a scheduler's time it looked and found nothing."""
    found: dict[str, dict[str, float]] = {thread_name(ORCHESTRATOR): {}}
    found |= {thread_name(scheduler.number): {} for scheduler in outcome.device.schedulers}
    for row in outcome.record.phases:
        phases, name = found[thread_name(row.thread)], Phase(row.phase).name.lower()
        phases[name] = phases.get(name, 0.0) + (row.end_fs - row.start_fs) / FS_PER_US
    for scheduler in outcome.device.schedulers:
        phases = found[thread_name(scheduler.number)]
        phases["poll"] = max(scheduler.end_fs / FS_PER_US - sum(phases.values()), 0.0)
    return found


def thread_name(number: int) -> str:
    """The name of a thread of the runtime."""
    return "orchestrator" if number == ORCHESTRATOR else f"scheduler{number}"


def _median_gap(rows: list[tuple[int, int, int]], cores: int) -> float | None:
    """The median time (µs) between two blocks of a core; None if no core has two."""
    by_core: list[list[tuple[int, int]]] = [[] for _ in range(cores)]
    for core, start_fs, end_fs in rows:
        by_core[core].append((start_fs, end_fs))
    gaps: list[int] = []
    for each in by_core:
        each.sort()
        gaps += [after[0] - before[1] for before, after in pairwise(each)]
    gaps.sort()
    return gaps[len(gaps) // 2] / FS_PER_US if gaps else None


def occupancy_table(outcome: Outcome) -> polars.DataFrame:
    """How full rings, pools and queues were over time: a row for each publication of a task and each retirement."""
    import polars

    columns = list(zip(*outcome.record.occupancy, strict=True)) or [()] * len(Occupancy._fields)
    named = dict(zip(("time_ns", *Occupancy._fields[1:]), columns, strict=True))
    return polars.DataFrame({**named, "time_ns": [fs / 1e6 for fs in named["time_ns"]]})
