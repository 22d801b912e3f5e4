"""Runs of benches whose kernels run on PEs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kernbench.engine.jit_status import running_s
from kernbench.errors import InputError
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.request import note_request
from kernbench.machine import load_machine
from kernbench.modes import RUN_MODES, Mode, check_mode
from kernbench.runs.result import RunResult
from kernbench.runs.run import check_parameters, choose_sips, run_kernels

if TYPE_CHECKING:
    from kernbench.frontends.bench_workloads import BenchWorkload
    from kernbench.machine.machine import Machine

Run = Callable[[float], dict[str, Any]]  # given when it began; the fields of a `RunResult` that follow from the run


def prepare_bench(workload: BenchWorkload, request: Request) -> Prepared:
    """Check a request before anything runs. Errors: InputError."""
    options, bench = request.options, workload.of
    check_mode(options.mode, RUN_MODES)
    if options.verify and options.mode == Mode.ANALYTIC:
        raise InputError("analytic mode computes no numbers that could be verified; use mode hybrid")
    machine, given = prepare_machine(workload, request)
    sips = choose_sips(machine, options.device)
    run: Run = partial(run_kernels, bench, machine, sips, given, options)
    return Prepared(workload, machine, partial(make_result, workload, request, machine, run))


def prepare_machine(workload: BenchWorkload, request: Request) -> tuple[Machine, Mapping[str, object]]:
    """The machine of a run, and its parameters. Errors: InputError; of a machine that cannot run it, this comes first."""
    topology, bench = request.machine, workload.of
    try:
        given = check_parameters(bench, topology, request.parameters, request.fields)
        request.options.stage("compiling the machine")
        machine = load_machine(topology, bench.shape(given, request.fields))
    except InputError:  # a machine of another family lacks the fields: say that instead
        workload.check_family(topology, load_machine(topology).family)
        raise
    workload.check_family(topology, machine.family)
    return machine, given


def make_result(workload: BenchWorkload, request: Request, machine: Machine, run: Run) -> RunResult:
    """Run a bench; returns its result. Errors: those of the run."""
    found = run(running_s())
    noted = note_request(request, [workload], machine)
    return RunResult(bench=workload.name, topology=machine.name, overrides=request.fields, request=noted, **found)
