"""Runs of benches of Tanto programs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kernbench.engine.jit_status import running_s
from kernbench.errors import InputError
from kernbench.frontends.bench_runs import make_result, prepare_machine
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.tanto_result import measure
from kernbench.modes import RUN_MODES, Mode, check_mode
from kernbench.tanto.context import TantoContext

if TYPE_CHECKING:
    from kernbench.frontends.bench_workloads import BenchWorkload
    from kernbench.limits.run_options import RunOptions
    from kernbench.machine.machine import Machine
    from kernbench.runs.bench import Bench


def prepare_tanto_bench(workload: BenchWorkload, request: Request) -> Prepared:
    """Check a request before anything runs. Errors: InputError."""
    check_mode(request.options.mode, RUN_MODES)
    if request.options.mode == Mode.ANALYTIC:
        raise InputError(
            f"bench {workload.name!r} is one of Tanto programs, which have no analytic mode; use mode hybrid"
        )
    machine, given = prepare_machine(workload, request)
    run = partial(_run, workload.of, machine, given, request.options)
    return Prepared(workload, machine, partial(make_result, workload, request, machine, run))


def _run(
    bench: Bench, machine: Machine, given: Mapping[str, object], options: RunOptions, started: float
) -> dict[str, Any]:
    """The run of the program, by the names of `RunResult`. Errors: those of the run."""
    context = TantoContext(machine, bench.file.parent / "kernels")
    options.stage("recording the bench")
    bench.call(context, given)
    options.stage("running the kernels")
    result = context.run(numbers=options.verify, mode=options.mode, on_progress=options.on_progress)
    mismatches = context.mismatches() if options.verify else ()
    options.stage("measuring the run")
    return {
        "mode": options.mode,
        "parameters": given,
        "wall_s": running_s() - started,
        "verified": not mismatches if options.verify else None,
        "mismatches": mismatches,
        **measure(result),
    }
