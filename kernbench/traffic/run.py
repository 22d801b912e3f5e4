"""Run flows: start, completion, latency and bandwidth of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.energy.figures import EnergyFigures
from kernbench.engine import Session
from kernbench.errors import InputError
from kernbench.notebook import MOST_ROWS, html_table
from kernbench.program.program import Program
from kernbench.text import plural
from kernbench.traffic.lower import Arrival, Traffic
from kernbench.traffic.trace import FinishedFlows
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import polars

    from kernbench.engine.network_waits import NetworkWaits
    from kernbench.limits.run_options import OnProgress
    from kernbench.machine.machine import Machine
    from kernbench.traffic.flows import Flows


@dataclass(frozen=True, slots=True, repr=False)
class FlowResult:
    """The result of a run of flows."""

    topology: str
    mode: str
    flows: Flows
    end_fs: np.ndarray  # int64[flow] completion; of what is acknowledged the acknowledgement
    arrival_fs: np.ndarray  # int64[flow] the last byte at its destination, or at the last of them
    arrivals: list[Arrival]  # of multicasts, at each destination
    hops: np.ndarray  # int64[flow] links on the route; in a mesh those between routers
    makespan_ns: float
    flit_hops: int  # crossings of a link by a flit, those at endpoints too
    wall_s: float  # in the loop alone
    network: NetworkWaits | None = None  # None: not counted
    energy: Mapping[str, Any] | None = None  # by the names of `RunResult`: joules, watts, mm², $; None: not asked for

    def __repr__(self) -> str:
        what = f"{plural(len(self.flows), 'flow')} on {self.topology}, {self.mode} mode"
        return f"<FlowResult of {what}: makespan {self.makespan_ns:,.3f} ns; .table()>"

    def _repr_html_(self) -> str:
        shown = ("src", "dst", "bytes", "start_ns", "end_ns", "latency_ns", "effective_gbs")
        rows = [
            [f"{value:,.6g}" if isinstance(value, float) else str(value) for value in row]
            for row in self.table().select(shown).head(MOST_ROWS).iter_rows()
        ]
        more = f"and {len(self.flows) - MOST_ROWS:,} more" if len(self.flows) > MOST_ROWS else ""
        return html_table(f"{plural(len(self.flows), 'flow')} on {self.topology}", shown, rows, *filter(None, [more]))

    @property
    def latency_fs(self) -> np.ndarray:
        """int64[flow] from the start asked for to completion."""
        return self.end_fs - self.flows.start_fs

    def table(self) -> polars.DataFrame:
        """One row for each flow: id, src, dst, bytes, start_ns, end_ns, latency_ns, effective_gbs, hops."""
        import polars

        flows, latency_ns = self.flows, self.latency_fs / FS_PER_NS
        names = polars.Series(flows.names)
        return polars.DataFrame(
            {
                "id": np.arange(len(flows)),
                "src": names.gather(flows.src),
                "dst": names.gather(flows.dst),
                "bytes": flows.nbytes,
                "start_ns": flows.start_fs / FS_PER_NS,
                "end_ns": self.end_fs / FS_PER_NS,
                "latency_ns": latency_ns,
                "effective_gbs": flows.nbytes / latency_ns,
                "hops": self.hops,
            }
        )

    def list_arrivals(self) -> list[dict[str, Any]]:
        """The arrivals of multicasts as plain values."""
        start_fs = self.flows.start_fs.tolist()
        return [
            {"id": flow, "dst": name, "arrival_ns": fs / FS_PER_NS, "latency_ns": (fs - start_fs[flow]) / FS_PER_NS}
            for flow, name, fs in self.arrivals
        ]

    def to_dict(self) -> dict[str, Any]:
        """The totals as plain values, without the flows; of multicasts, when they came to each destination."""
        arrivals = self.list_arrivals()
        return {
            "topology": self.topology,
            "mode": self.mode,
            "makespan_ns": self.makespan_ns,
            "flit_hops": self.flit_hops,
            "wall_s": self.wall_s,
            **(self.energy or {}),
            **({"arrivals": arrivals} if arrivals else {}),
            **({} if self.network is None else {"network": self.network.to_dict()}),
        }


def run_flows(
    machine: Machine,
    flows: Flows,
    mode: str = "hybrid",
    on_progress: OnProgress | None = None,
    *,
    count_waits: bool = False,
    on_finished: Callable[[FinishedFlows], None] | None = None,
) -> FlowResult:
    """Run flows together on an idle machine; `on_progress` is called during long runs, as by `Session.run`.

    `on_finished` is called with all that is known when all have arrived. With `count_waits` the result has what flits waited
    for. Errors: InputError as `Traffic`, for an unknown mode, or for `count_waits` on a machine without credits.
    """
    if count_waits:
        check_waits(machine)
    traffic = Traffic(machine, flows)
    load_loop(machine, mode)
    found = _run(traffic, mode, on_progress, count_waits, on_finished)
    return replace(found, energy=EnergyFigures(traffic.program).of_run(round(found.makespan_ns * FS_PER_NS)))


def check_waits(machine: Machine) -> None:
    """Check that what flits wait for can be counted. Errors: InputError for a machine without credits."""
    if not machine.flow_control:
        raise InputError(
            f"the links of machine {machine.name} have no credits, so what flits wait for is not counted; "
            "give a machine with flow_control: credit, or leave --explain out"
        )


def run_alone(machine: Machine, flows: Flows, mode: str = "hybrid") -> FlowResult:
    """As `run_flows`, after one `load_loop` for many of them."""
    return _run(Traffic(machine, flows), mode, None)


def load_loop(machine: Machine, mode: str) -> None:
    """Load the compiled loop, so that its time is not part of the next run. Errors: InputError for an unknown mode."""
    Session(Program(machine), mode).run()


def _run(
    traffic: Traffic,
    mode: str,
    on_progress: OnProgress | None,
    count_waits: bool = False,
    on_finished: Callable[[FinishedFlows], None] | None = None,
) -> FlowResult:
    session = Session(traffic.program, mode, count_waits=count_waits)
    session.run(on_progress=on_progress)
    session.check_finished()
    end_fs = session.op_end_fs[traffic.rows()].copy()
    found = FlowResult(
        topology=session.machine.name,
        mode=mode,
        flows=traffic.flows,
        end_fs=end_fs,
        arrival_fs=traffic.arrivals_fs(session.op_end_fs),
        arrivals=traffic.list_arrivals(session.op_end_fs),
        hops=traffic.hops,
        makespan_ns=session.now_fs / FS_PER_NS,
        flit_hops=session.flit_hops,
        wall_s=session.wall_s,
        network=session.network_waits,
    )
    if on_finished is not None:
        on_finished(FinishedFlows(session, traffic.rows(), found))
    return found
