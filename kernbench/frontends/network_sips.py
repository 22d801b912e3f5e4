"""Networks on SIPs: a step becomes launches of kernels, in tilings that are chosen first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kernbench.dtypes import BLOCK_BITS, bits
from kernbench.errors import InputError
from kernbench.frontends import networks
from kernbench.frontends.bench_runs import make_result
from kernbench.frontends.network_choices import Decided, decide
from kernbench.frontends.network_energy import tell_energy
from kernbench.frontends.network_points import find_rerun
from kernbench.frontends.network_sends import time_send
from kernbench.frontends.prepared import Prepared, Request
from kernbench.runs.run import run_kernels
from kernbench.workloads.answer import Peak, tell_step
from kernbench.workloads.memory import Memory, check_memory
from kernbench.workloads.plan import Plan
from kernbench.workloads.sip.answer import find_peak, list_inexact, time_marks
from kernbench.workloads.sip.choices import WITHOUT, Choices, read_choices
from kernbench.workloads.sip.program import check_lowered, check_scratch
from kernbench.workloads.sip.quiet import is_quiet
from kernbench.workloads.step import Step, check_sips

if TYPE_CHECKING:
    from kernbench.frontends.network_workloads import NetworkWorkload
    from kernbench.machine.machine import Machine
    from kernbench.runs.result import RunResult


def prepare_sips(
    workload: NetworkWorkload, request: Request, machine: Machine, given: Mapping[str, Any], *, again: bool
) -> Prepared:
    """As of `Workload.prepare`, on SIPs; with `again` a step that is recorded runs again.

    Errors: InputError for what does not fit or has no kernels.
    """
    network, options = workload.network.architecture, request.options
    step = _make_step(workload, machine, given)
    peak = find_peak(machine, bits(step.types.activations))
    memory = check_memory(network, step, peak.held)
    check_scratch(network, step, machine.places.pes_per_cube, int(machine.figures["pe.scratch_bytes"]))
    fixed = _read_choices(workload, machine, given, step)
    plan = Plan(network, given["layers"] == "all")

    def run() -> RunResult:
        options.stage("choosing tilings")
        decided = decide(machine, network, step, fixed)
        chosen = {**given, "choices": decided.text}
        rerun = find_rerun(workload, request, chosen) if again else None
        simulate = rerun or partial(run_kernels, workload.of, machine, range(step.ranks), chosen, options)
        found = replace(make_result(workload, request, machine, simulate), parameters=given)
        return workload.tell_unread(request, _tell(workload, plan, step, memory, peak, decided, found))

    return Prepared(workload, machine, run)


def _make_step(workload: NetworkWorkload, machine: Machine, given: Mapping[str, Any]) -> Step:
    """The step, if it is one of SIPs and of this machine. Errors: InputError."""
    of_chips = next((name for name in networks.OF_CHIPS if given[name]), None)
    if of_chips:
        raise InputError(
            f"{of_chips} is of chips of family 'tensix', and {machine.name} is of family 'sip'; leave it out"
        )
    step = workload.make_step(given)
    types = (step.types.weights, step.types.activations, step.types.cache)
    block = next((name for name in types if name in BLOCK_BITS), None)
    if block:
        raise InputError(f"{block} is a format of chips of family 'tensix', and {machine.name} is of family 'sip'")
    check_sips(workload.network.architecture, step, machine.name, machine.places.sip_count)
    check_lowered(workload.network.architecture, step)
    return step


def _read_choices(workload: NetworkWorkload, machine: Machine, given: Mapping[str, Any], step: Step) -> Choices:
    """The choices that are fixed. Errors: InputError."""
    places = machine.places
    fixed = read_choices(str(given["choices"]), workload.name, places.cubes_per_sip, places.pes_per_cube)
    if fixed != WITHOUT and step.phase != "decode":
        raise InputError(f"{workload.name} got choices, and phase={step.phase} has none; leave them out")
    return fixed


def _tell(
    workload: NetworkWorkload, plan: Plan, step: Step, memory: Memory, peak: Peak, decided: Decided, result: RunResult
) -> RunResult:
    """The result with the answer for the network."""
    session = result.device.session
    (ran,) = workload.ran
    spans = time_marks(ran.marks, ran.launches, session.op_issue_fs, session.op_end_fs)
    quiet = is_quiet(session, [ran.launches[0][at] for at in ran.alone])
    inexact = list_inexact(session.machine, quiet=quiet, replicas=step.replicas)
    send_fs = time_send(session.machine, plan.network, step) if step.stages > 1 else 0
    told = tell_step(plan, step, memory, peak, ran.marks, spans, inexact, send_fs)
    return replace(result, network={**told, **tell_energy(result, told, ran), "choices": list(decided.told)})
