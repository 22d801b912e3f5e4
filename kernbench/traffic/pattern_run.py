"""Run the traffic of a pattern on a machine: one load, and the saturation load if a curve is asked for.

This is the workload of a sweep's point (`kernbench.sweep`). The figures are those of `kernbench probe --pattern` with the same
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.energy.figures import MEASURED, OF_MACHINE
from kernbench.engine.jit_status import running_s
from kernbench.limits.run_limits import read_limits
from kernbench.limits.run_options import Stage
from kernbench.limits.time_limit import limit_time
from kernbench.machine import load_machine
from kernbench.traffic.curve import find_saturation
from kernbench.traffic.injection_process import PACKET_FLITS, WINDOW, InjectionProcess, check_load
from kernbench.traffic.load_point import LoadPoint, measure_load
from kernbench.traffic.loads import parse_loads
from kernbench.traffic.patterns import check_pattern

if TYPE_CHECKING:
    from kernbench.limits.run_options import OnProgress, OnStage
    from kernbench.machine.machine import Machine


@dataclass(frozen=True, slots=True)
class PatternParameters:
    """What a pattern sends. Errors: InputError for values that mean nothing."""

    pattern: str
    load: float = 0.1  # that is measured: a fraction of what an endpoint can inject
    loads: str = ""  # of a curve, as `probe --load` takes them; it gives the saturation load
    packet_flits: int = PACKET_FLITS
    seed: int = 0
    window: int = WINDOW  # flit times

    def __post_init__(self) -> None:
        check_pattern(self.pattern)
        check_load(self.load)
        self.list_loads()
        self.injection()

    def injection(self) -> InjectionProcess:
        """The process that begins the packets."""
        return InjectionProcess(self.pattern, self.packet_flits, self.seed, self.window)

    def list_loads(self) -> list[float]:
        """The loads of the curve, rising; none if none is asked for."""
        return sorted(parse_loads(self.loads, "loads")) if self.loads else []


@dataclass(frozen=True, slots=True)
class PatternResult:
    """The figures of a pattern at its load, as of `LoadPoint`; the work is that of the curve, too."""

    latency_ns: float
    accepted: float
    saturation_load: float | None  # None: not reached, or not asked for
    packets: int
    alone_ns: float
    p50_ns: float
    p99_ns: float
    max_ns: float
    makespan_ns: float
    flit_hops: int
    wall_s: float
    energy_j: float | None = None  # of the run at the load, as of `RunResult`
    dynamic_j: float | None = None
    static_j: float | None = None
    power_w: float | None = None
    no_figures: str | None = None
    area_mm2: float | None = None
    cost_usd: float | None = None


def run_pattern(
    topology: str | Path,
    parameters: PatternParameters,
    mode: str = "hybrid",
    *,
    overrides: Mapping[str, object] | None = None,
    time_limit: float | str | None = None,
    on_stage: OnStage = lambda _: None,
    on_progress: OnProgress | None = None,
) -> PatternResult:
    """Run a pattern on a machine by name or path, with overrides of its fields; `time_limit` is in seconds or a text.

    `on_stage` and `on_progress` are as of `run_bench`. Errors: InputError for what cannot be sent there, as `measure_load`;
    LimitError.
    """
    stage, started = Stage(on_stage), running_s()
    with limit_time(read_limits(time_limit).time_s, lambda: f"pattern {parameters.pattern!r}, {stage.text}"):
        stage("compiling the machine")
        machine = load_machine(topology, overrides)
        stage("simulating")
        loads = parameters.list_loads()
        each = sorted({*loads, parameters.load})
        points = dict(zip(each, _measure(machine, parameters.injection(), each, mode, on_progress), strict=True))
    curve = [points[load] for load in loads]
    return _result(points[parameters.load], curve, list(points.values()), running_s() - started)


def _result(
    measured: LoadPoint, curve: Sequence[LoadPoint], points: Sequence[LoadPoint], wall_s: float
) -> PatternResult:
    return PatternResult(
        latency_ns=measured.latency_ns,
        accepted=measured.accepted,
        saturation_load=find_saturation(curve, curve[-1].alone_ns) if curve else None,
        packets=measured.packets,
        alone_ns=measured.alone_ns,
        p50_ns=measured.p50_ns,
        p99_ns=measured.p99_ns,
        max_ns=measured.max_ns,
        makespan_ns=measured.makespan_ns,
        flit_hops=sum(point.flit_hops for point in points),
        wall_s=wall_s,
        **{name: (measured.energy or {}).get(name) for name in (*MEASURED, "no_figures", *OF_MACHINE)},
    )


def _measure(
    machine: Machine,
    injection: InjectionProcess,
    loads: Sequence[float],
    mode: str,
    on_progress: OnProgress | None,
) -> list[LoadPoint]:
    """The loads one after the other. What is known of the work of later ones is that it grows with the load."""
    found: list[LoadPoint] = []
    for load in loads:
        before, share = sum(point.flit_hops for point in found), sum(loads[: len(found) + 1]) / sum(loads)
        found.append(measure_load(machine, injection, load, mode, on_progress and _after(on_progress, before, share)))
    return found


def _after(on_progress: OnProgress, before: int, share: float) -> Callable[[int, int, int], object]:
    """Report with what was served `before`; with what is known now, this is a `share` of the whole."""

    def report(served: int, known: int, now_fs: int) -> None:
        on_progress(before + served, round((before + known) / share), now_fs)

    return report
