"""The result of a run: its metrics, op log, explanation and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from kernbench.errors import InputError
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from kernbench.energy.run_energy import RunEnergy
    from kernbench.host.device.device import Device
    from kernbench.host.device.launch import Launch
    from kernbench.limits.run_options import OnRuns, OnStage
    from kernbench.oplog.record import OpRecord
    from kernbench.runs.explanation import Explanation
    from kernbench.runs.what_if import WhatIf


class _Elsewhere:
    """What ran, in a result that was pickled: it is in the process that ran it."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # `pickle` asks for some that may be missing
            raise AttributeError(name)
        raise InputError(
            "this result was pickled, which keeps its figures alone; ask for its op log, explanation or files in the process "
            "that ran it"
        )


@dataclass(frozen=True, slots=True, repr=False)
class RunResult:
    """The figures of one run.

    - `latency_ns`: from the first launch leaving the host to the last completion back at it; without a launch, the makespan.
    - `pe_exec_ns`: from a launch's barrier to the end of its last PE, summed over a SIP's launches; the largest of all SIPs.
    - `makespan_ns`: from the start to the last event.
    - `wall_s`: how long the simulation took. All other times are simulated.
    - `verified`: whether all expectations of the bench held; None if that was not asked.
    - `bottleneck`, `bottleneck_part`, `bottleneck_utilisation`: the most utilised class of parts, its busiest part, and the
      share of pe_exec that kernels kept it busy (without a launch: the share of the makespan).
    - `achieved_tflops`, `achieved_gbs`: GEMM work, and bytes moved by PEs, over pe_exec.
    - `tflops_of_peak`, `gbs_of_peak`: GEMM work over that of all engines of the PEs used, and bytes to and from memory over
      the bandwidth of their HBM slices (`runs.demand`).

    - `collective_algorithm`: the algorithms of the collectives in the order of their first calls; None if there are none.

    - `dynamic_aj`, `static_aj`: the energy of what was done, and of the makespan, in whole attojoules (`energy`);
      `static_upper_aj` of the upper bound of the makespan, in mode analytic.
    - `no_figures`: the fields of sheets, "noc.energy.byte_pj, …", that lack a figure for what was done.
    - `energy_j`, `dynamic_j`, `static_j`, `power_w`: in joules, and the mean over the makespan in watts; None where a figure
      is missing, and in mode analytic.
    - `area_mm2`, `cost_usd`: of all dies of the machine, and its price; None where a figure is missing.

    In mode analytic nothing happens: times are lower bounds (`lower_ns` is that of the latency), `upper_ns` is an upper bound
    of all of them, and `binding` says what sets the bound of the makespan. Rates are upper bounds, of kernels that take at
    least `pe_exec_ns`. There are no events and no bottleneck.

    A result may be pickled, as worker processes do to hand it back; its figures come along, what ran stays where it is.
    """

    left_behind: ClassVar[tuple[str, ...]] = ("device",)  # fields that a pickled result does not have

    bench: str
    topology: str
    mode: str
    parameters: Mapping[str, object]
    overrides: Mapping[str, object]
    latency_ns: float
    pe_exec_ns: float
    makespan_ns: float
    events: int
    flit_hops: int
    wall_s: float
    verified: bool | None
    mismatches: tuple[str, ...]
    achieved_tflops: float | None  # None in analytic mode where pe_exec_ns is 0
    achieved_gbs: float | None
    tflops_of_peak: float | None
    gbs_of_peak: float | None
    bottleneck: str | None  # None in analytic mode, as are the next two
    bottleneck_part: str | None
    bottleneck_utilisation: float | None
    device: Device = field(repr=False, compare=False)
    lower_ns: float | None = None  # None but in mode analytic
    upper_ns: float | None = None
    binding: str | None = None
    launches: tuple[Launch, ...] = field(default=(), repr=False, compare=False)
    unmapped_lookups: int = 0  # by kernels, of addresses that no tensor maps, which were taken as physical ones
    warnings: tuple[str, ...] = ()  # sentences: races and what is missing (Tanto), long waits (task graphs)
    collectives: tuple[Mapping[str, Any], ...] = ()  # each with its time and its lower bound: `collective_metrics`
    collective_algorithm: str | None = None
    kernel_launches: tuple[
        Mapping[str, Any], ...
    ] = ()  # of Triton files and kernels: kernel, line, grid, ns, arguments
    network: Mapping[str, Any] | None = None  # of networks, as of `workloads.answer`
    request: Mapping[str, Any] | None = None  # as of `frontends.request`; None of a function
    dynamic_aj: int | None = None  # None: no sheet of the machine has a price
    static_aj: int | None = None
    static_upper_aj: int | None = None
    no_figures: str | None = None
    energy_j: float | None = None
    dynamic_j: float | None = None
    static_j: float | None = None
    power_w: float | None = None
    area_mm2: float | None = None
    cost_usd: float | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        left = {**dict.fromkeys(self.left_behind, _Elsewhere()), "launches": ()}
        return _restore, (type(self), {one.name: left.get(one.name, getattr(self, one.name)) for one in fields(self)})

    @property
    def step_ns(self) -> float | None:
        """Of a network: the time of a step of all its layers."""
        return None if self.network is None else self.network["step_ns"]

    @property
    def tokens_s(self) -> float | None:
        """Of a network: tokens a second of all its sequences."""
        return None if self.network is None else self.network["tokens_s"]

    @property
    def tokens_per_joule(self) -> float | None:
        """Of a network: tokens for each joule of a step; None where a figure is missing."""
        return None if self.network is None else self.network["tokens_per_joule"]

    @property
    def sequences_s(self) -> float | None:
        """Sequences whose step ends in a second, of a network: sentences or images of an encoder; None: no network."""
        return None if self.network is None else self.network["sequences_s"]

    @property
    def user_tokens_s(self) -> float | None:
        """Of a network: tokens a second of one sequence."""
        return None if self.network is None else self.network["user_tokens_s"]

    def __copy__(self) -> RunResult:
        return self  # nothing of it changes

    def __deepcopy__(self, _: object) -> RunResult:
        return self

    def __repr__(self) -> str:
        return f"<RunResult {self._told}; .explain(), .op_log(), .write(directory)>"

    def _repr_html_(self) -> str:
        from kernbench.notebook import html_table

        shown = (
            "latency_ns",
            "pe_exec_ns",
            "upper_ns",
            "binding",
            "bottleneck_part",
            "achieved_tflops",
            "achieved_gbs",
        )
        figures = {name: getattr(self, name) for name in (*shown, "tflops_of_peak", "gbs_of_peak", "verified")}
        rows = [[name, _text(value)] for name, value in figures.items() if value is not None]
        return html_table(self._told, ["figure", "value"], rows, *self.mismatches)

    @property
    def _told(self) -> str:
        given = "".join(f", {name} {value}" for name, value in {**self.parameters, **self.overrides}.items())
        at_least = "at least " if self.binding is not None else ""
        return f"{self.bench} on {self.topology}, {self.mode} mode{given}: {at_least}{self.latency_ns:,.1f} ns"

    def energy(self) -> RunEnergy:
        """The energy of the run by part, action and die: `kernbench.energy`.

        Errors: InputError on a machine whose sheets have no prices.
        """
        from kernbench.energy.run_energy import RunEnergy, check_priced

        program = self.device.program
        check_priced(program.machine)
        upper_fs = None if self.upper_ns is None else round(self.upper_ns * FS_PER_NS)
        times = None if self.binding is not None else self.device.session.times
        return RunEnergy(program, round(self.makespan_ns * FS_PER_NS), upper_fs, times)

    def tell_energy(self) -> dict[str, Any]:
        """The energy in plain values: its range, power over time, and by action, die, operation, launch and line.

        Errors: as `energy`.
        """
        from kernbench.energy.uncertain import find_energy_range
        from kernbench.runs.energy_shares import share_energy

        found = self.energy()
        ends = find_energy_range(found)
        shares = share_energy(found, self.launches)
        power = None if found.times is None else found.power().to_dict()
        return {
            **found.to_dict(),
            **shares.to_dict(),
            "range": None if ends is None else ends.to_dict(),
            "power": power,
        }

    @property
    def program_digest(self) -> str:
        """The digest of the program that ran; equal for programs that do the same, whatever the machine's figures."""
        from kernbench.program.digest import digest

        return digest(self.device.program)

    def op_log(self) -> pl.DataFrame:
        """The op log, built when asked for; its columns are described in `kernbench.oplog.log`.

        Errors: InputError in mode analytic.
        """
        from kernbench.oplog.log import build_log

        if self.binding is not None:
            raise InputError("analytic mode has no events, so it keeps no op log; use mode hybrid")
        session = self.device.session
        return build_log(session.program, *session.times)

    def explain(
        self, *, what_if: bool = False, on_stage: OnStage = lambda _: None, on_runs: OnRuns = lambda _done, _total: None
    ) -> Explanation:
        """Why the run took as long as it did: critical path, what-if table, utilisation, queueing, roofline, waiting by link.

        Waiting by link is there on a machine with credits, if the run was given `count_waits`.
        The what-if table of a long run is left out unless `what_if` asks for it. `on_stage(text)` is called with what is done
        next, `on_runs(done, total)` during the runs of a what-if table. Errors: InputError in mode analytic.
        """
        from kernbench.runs.explanation import explain_run

        if self.binding is not None:
            raise InputError("analytic mode has no events to explain; use mode hybrid, or see what binds")
        operators = self.network["operators"] if self.network else ()
        return explain_run(
            self.device.session, self.launches, operators=operators, what_if=what_if, on_stage=on_stage, on_runs=on_runs
        )

    def what_if(
        self,
        factor: float = 2,
        fields: Sequence[str] | None = None,
        on_stage: OnStage = lambda _: None,
        on_runs: OnRuns = lambda _done, _total: None,
    ) -> WhatIf | None:
        """The latency of the run if fields of the topology were faster by a factor, simulated: see `runs.what_if`.

        `fields` are dotted paths such as "noc.gbs"; without them, all that a time of the run follows from. None if the run
        cannot be repeated without its host. Errors: InputError for a field or a factor that cannot be, or in mode analytic.
        """
        from kernbench.runs.what_if import find_what_if

        if self.binding is not None:
            raise InputError("analytic mode runs nothing, so there is nothing to repeat; use mode hybrid")
        return find_what_if(self.device.session, self.launches, factor, fields, on_stage, on_runs)

    def records(self) -> list[OpRecord]:
        """The op log as typed records of seven fields, in its order. Errors: InputError in mode analytic."""
        from kernbench.oplog.record import read_records

        return read_records(self.op_log())

    def snapshots(self, row: int) -> list[np.ndarray]:
        """The operands of a row of the op log as they were when it took them, in the order of its `inputs`.

        They are computed when asked for. Errors: InputError for a row without operands, or in mode analytic.
        """
        from kernbench.runs.operand_snapshots import find_snapshots

        if self.binding is not None:
            raise InputError("analytic mode computes no numbers; use mode hybrid")
        return find_snapshots(self.device, row)

    def read_memory(self, address: int, nbytes: int) -> np.ndarray:
        """uint8[nbytes] that a memory of the machine holds at a physical address after the run; 0 where nothing was written.

        It may be a view of the simulator's own store: copy what must not change. Errors: InputError for a range that lies
        not in one memory, or in mode analytic.
        """
        if self.binding is not None:
            raise InputError("analytic mode computes no numbers; use mode hybrid")
        return self.device.memory.read(address, nbytes)

    def write(
        self, out: str | Path, explanation: Explanation | None = None, what_if: WhatIf | None = None
    ) -> dict[str, str]:
        """Write `oplog.parquet`, `critical_path.parquet` and `result.json` into a directory, all or nothing; returns their
        paths by name. What `kernbench web` draws beside is written too (`runs.view_tables`).

        With the result of `explain` also `utilisation.parquet`, and `result.json` has the sums; with that of `what_if` it has
        the table.
        Errors: RunError if the disk refuses; InputError in mode analytic.
        """
        from kernbench.runs.files import write_files

        return write_files(self, Path(out), explanation, what_if)

    def write_beside(self, directory: Path) -> None:
        """Write what programs that ran in turn leave together; nothing but of Tanto programs, which leave buffers."""

    def write_trace(self, path: str | Path, filters: Sequence[str] = ()) -> None:
        """Write a trace of the run that opens in Perfetto; all of it or, with filters as of `--trace-filter`, some of it.

        Errors: InputError for a filter that cannot be, or in mode analytic; RunError if the disk refuses.
        """
        from kernbench.runs.trace import write_trace

        if self.binding is not None:
            raise InputError("analytic mode has no events to trace; use mode hybrid")
        write_trace(self.device.session, self.launches, Path(path), filters, self.network)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: everything but the op log."""
        values = {f.name: getattr(self, f.name) for f in fields(RunResult) if f.name not in ("device", "launches")}
        return values | {
            "parameters": dict(self.parameters),
            "overrides": {path: str(value) for path, value in self.overrides.items()},
            "mismatches": list(self.mismatches),
            "warnings": list(self.warnings),
            "request": self.request and dict(self.request),
            "collectives": [dict(one) for one in self.collectives],
            "kernel_launches": [dict(one) for one in self.kernel_launches],
        }


def _text(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _restore(kind: type[RunResult], values: Mapping[str, Any]) -> RunResult:
    """A result that was pickled."""
    found = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(found, name, value)
    return found
