"""Running a program of any front-end on a machine: the one entry point for the command line, sweeps, tests and users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernbench.errors import shorten
from kernbench.frontends.frontend import Name
from kernbench.frontends.prepared import make_request
from kernbench.frontends.registry import check_options, find
from kernbench.limits.run_limits import read_limits
from kernbench.limits.run_options import OnProgress, OnStage, RunOptions, Stage
from kernbench.limits.time_limit import limit_time

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.runs.result import RunResult


def run_bench(
    bench: Name,
    topology: str | Path | None = None,
    *,
    mode: str = "hybrid",
    parameters: Mapping[str, object] | None = None,
    overrides: Mapping[str, object] | None = None,
    verify: bool = False,
    live: bool = False,
    device: str = "all",
    time_limit: float | str | None = None,
    op_limit: int | None = None,
    count_waits: bool = False,
    on_stage: OnStage = lambda _: None,
    on_progress: OnProgress | None = None,
) -> RunResult:
    """Run a bench, a Tanto program, a task graph or a measured graph on a machine by name or path.

    `bench` is a name, an index, a path or the decorated function; the machine is by default that of its kind, such as
    sip_2x4x4 for benches on PEs. `parameters` override the defaults of what runs, `overrides` fields of the topology by dotted
    path; a field may be in either by its name in grids and tables, "topology.hbm.channel_gbs". `verify` also
    computes the numbers and compares them with references, if there are any; `live` runs kernels step by step with their
    data, as some benches always do; `device` is `all` or `sip:N`. `mode` is "hybrid" or "flit", which give the same times, or
    "analytic", which runs nothing and gives bounds. `time_limit` is in seconds, or a text such as "10 min"; `op_limit` is of
    the operations of all kernels, by default as many as free memory holds. `count_waits` counts what flits wait for on a
    machine with credits, for `RunResult.explain`. `on_stage(text)` is called with what is done next, `on_progress` during
    long runs as by `Session.run`.

    Errors: InputError for what cannot be run; RunError and its kinds for a run that fails, LimitError among them. Wrong
    numbers are no error here: they make `verified` False.
    """
    limits, stage = read_limits(time_limit, op_limit), Stage(on_stage)
    options = RunOptions(mode, verify, live, device, limits, count_waits, stage, on_progress)
    with limit_time(limits.time_s, lambda: tell_place(bench, stage)):
        found = find(bench)
        check_options(found.record, options)
        return found.prepare(make_request(topology or found.machine, parameters, overrides, options)).run()


def tell_place(name: Name, stage: Stage) -> str:
    """What runs and how far it is, for the message of a limit; a function by the name of its bench."""
    shown = find(name).name if callable(name) else name
    return f"bench {shorten(shown)!r}, {stage.text}"
