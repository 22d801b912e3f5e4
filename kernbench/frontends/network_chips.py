"""Networks on chips of family `tensix`: a step becomes Tanto programs in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernbench.engine.jit_status import running_s
from kernbench.errors import InputError
from kernbench.frontends.bench_runs import make_result
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.tanto_result import TantoDevice
from kernbench.runs.metrics import run_metrics
from kernbench.tanto.device import Device
from kernbench.workloads.answer import tell_step
from kernbench.workloads.memory import check_memory
from kernbench.workloads.plan import Plan
from kernbench.workloads.tensix.checks import check_step, find_peak
from kernbench.workloads.tensix.network import Fidelities
from kernbench.workloads.tensix.run import ChipRun, run_step

if TYPE_CHECKING:
    from kernbench.frontends.network_workloads import NetworkWorkload
    from kernbench.limits.run_options import RunOptions
    from kernbench.machine.machine import Machine
    from kernbench.runs.result import RunResult

# As the library of the chips' maker has them.
USUAL = {"weights": "bfp8", "activations": "bf16", "cache": "bfp8", "math_fidelity": "hifi2"}
NOT_MODELLED = ("what the host does between steps",)
NO_ENERGY = dict.fromkeys(("step_dynamic_j", "step_static_j", "joules_per_token", "tokens_per_joule"))


def prepare_chip(workload: NetworkWorkload, request: Request, machine: Machine, given: Mapping[str, Any]) -> Prepared:
    """As of `Workload.prepare`, on a chip. Errors: InputError for what does not fit or has no kernels."""
    if given["choices"]:
        raise InputError(
            f"choices are of family 'sip', and {machine.name} is of family {machine.family!r}; leave them out"
        )
    filled = {**given, **{name: given[name] or usual for name, usual in USUAL.items()}}
    network, step = workload.network.architecture, workload.make_step(filled)
    check_step(network, step)
    fidelities = Fidelities(filled["math_fidelity"], given["mlp_math_fidelity"] or filled["math_fidelity"])
    peak = find_peak(machine, fidelities.all)
    memory = check_memory(network, step, peak.held, peak.place)
    plan = Plan(network, given["layers"] == "all")
    ran: list[ChipRun] = []

    def run(started: float) -> dict[str, Any]:
        ran[:] = [run_step(Device(machine), plan, step, fidelities, request.options)]
        return _measure(ran[0], request.options, given, started)

    def tell() -> RunResult:
        result = make_result(workload, request, machine, run)
        (one,) = ran
        told = tell_step(plan, step, memory, peak, one.marks, one.spans_fs, NOT_MODELLED)
        return workload.tell_unread(request, replace(result, network={**told, **NO_ENERGY}))

    return Prepared(workload, machine, tell)


def _measure(ran: ChipRun, options: RunOptions, given: Mapping[str, Any], started: float) -> dict[str, Any]:
    """The fields of a `RunResult` that follow from a run."""
    options.stage("measuring the run")
    return {
        "mode": options.mode,
        "parameters": given,
        "wall_s": running_s() - started,
        "verified": None,
        "mismatches": (),
        "device": TantoDevice(ran.session, ran.session.program),
        "warnings": ran.told,
        **run_metrics(ran.session, ()),
    }
