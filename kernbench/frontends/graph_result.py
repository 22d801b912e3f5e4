"""The result of a graph of tasks: a `RunResult` whose explanation, trace and files are those of the runtime, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.atomic_output import write_json, write_parquet
from kernbench.energy.figures import EnergyFigures
from kernbench.errors import InputError
from kernbench.pto.results.run_files import explain_graph, write_graph_trace
from kernbench.pto.results.summary import Summary, occupancy_table, summarise
from kernbench.pto.results.what_if import find_what_ifs
from kernbench.runs.explanation import is_long
from kernbench.runs.files import RunToKeep, tell_energy, write_run
from kernbench.runs.result import RunResult
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.engine import Session
    from kernbench.limits.run_options import OnRuns, OnStage
    from kernbench.program.program import Program
    from kernbench.pto.launch import Outcome
    from kernbench.pto.results.what_if import Rerun
    from kernbench.runs.explanation import Explanation
    from kernbench.runs.what_if import WhatIf

NS_PER_US = 1e3


@dataclass(frozen=True, slots=True)
class GraphDevice:
    """What a result keeps of a run: its session and program, with the rows of the runtime."""

    outcome: Outcome
    unmapped_lookups: int = 0

    @property
    def session(self) -> Session:
        """The finished session."""
        return self.outcome.whole

    @property
    def program(self) -> Program:
        """Its program."""
        return self.session.program


@dataclass(frozen=True, slots=True, repr=False)
class GraphResult(RunResult):
    """The result of a graph; `pe_exec_ns` is the span of the kernels, `figures` what `summarise` and the front-end tell."""

    left_behind = ("device", "outcome", "rerun")

    outcome: Outcome | None = field(default=None, compare=False)
    rerun: Rerun | None = field(default=None, compare=False)
    summary: Summary | None = field(default=None, compare=False)
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)

    def to_dict(self) -> dict[str, Any]:
        """As of `RunResult`, with the figures of the graph."""
        return {**RunResult.to_dict(self), **self.figures}

    def explain(
        self, *, what_if: bool = False, on_stage: OnStage = lambda _: None, on_runs: OnRuns = lambda _done, _total: None
    ) -> Explanation:
        """As of `RunResult`."""
        del on_runs
        assert self.outcome is not None
        assert self.rerun is not None
        found = None
        if what_if or not is_long(self.events):
            on_stage("running what-ifs")
            found = find_what_ifs(self.outcome, self.rerun)
        return explain_graph(self.outcome, found, self.rerun)

    def what_if(
        self,
        factor: float = 2,
        fields: Sequence[str] | None = None,
        on_stage: OnStage = lambda _: None,
        on_runs: OnRuns = lambda _done, _total: None,
    ) -> WhatIf | None:
        """As of `RunResult`, of parts of the runtime. Errors: InputError for another factor than 2, or for fields."""
        del on_runs
        assert self.outcome is not None
        assert self.rerun is not None
        if factor != 2 or fields is not None:
            raise InputError(
                "a what-if of a task graph makes each part of its run twice as fast or large; give no factor or field"
            )
        on_stage("running what-ifs")
        return find_what_ifs(self.outcome, self.rerun)

    def write(
        self, out: str | Path, explanation: Explanation | None = None, what_if: WhatIf | None = None
    ) -> dict[str, str]:
        """As of `RunResult`; the figures are also in `summary.json`, and how full rings and pools were beside."""
        assert self.outcome is not None
        out, outcome, told = Path(out), self.outcome, self.to_dict()
        if what_if is not None:
            told["what_if"] = what_if.to_dict()

        def write(partial: Path) -> None:
            write_json(told, partial / "summary.json")
            write_parquet(occupancy_table(outcome), partial / "occupancy.parquet")

        names = {"summary": "summary.json", "occupancy": "occupancy.parquet"}
        explanation = explanation or replace(explain_graph(outcome), what_if=what_if)
        summary = {**told, "explain": explanation.to_dict()}
        files = write_run(
            RunToKeep(outcome.whole, summary, explanation.path, explanation, tell_energy(self)), out, write
        )
        return {name: str(out / file) for name, file in names.items()} | files

    def write_trace(self, path: str | Path, filters: Sequence[str] = ()) -> None:
        """As of `RunResult`."""
        assert self.outcome is not None
        write_graph_trace(self.outcome, Path(path), filters)


def make_result(outcome: Outcome, rerun: Rerun, figures: Mapping[str, Any], **of_run: Any) -> GraphResult:
    """The result of a finished run; `of_run` is what was asked for and whether it is right, by the names of `RunResult`."""
    summary, session = summarise(outcome), outcome.session
    device: Any = GraphDevice(outcome)  # what explains and keeps runs asks for no more
    return GraphResult(
        topology=outcome.device.machine.name,
        latency_ns=outcome.end_fs / FS_PER_NS,
        pe_exec_ns=NS_PER_US * summary.span_us,
        makespan_ns=outcome.end_fs / FS_PER_NS,
        events=session.events,
        flit_hops=session.flit_hops,
        wall_s=outcome.wall_s,
        achieved_tflops=None,
        achieved_gbs=None,
        tflops_of_peak=None,
        gbs_of_peak=None,
        device=device,
        warnings=tuple(f"at {fs / FS_PER_NS:,.0f} ns: {text}" for fs, text in outcome.record.warnings),
        outcome=outcome,
        rerun=rerun,
        summary=summary,
        figures={"runtime": outcome.backend.value, **figures, **summary.to_dict()},
        **EnergyFigures(session.program).of_run(outcome.end_fs),
        **outcome.usage.to_dict(),
        **of_run,
    )
