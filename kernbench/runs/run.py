"""Running or recording a bench whose kernels run on PEs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.energy.figures import EnergyFigures
from kernbench.engine.jit_status import running_s
from kernbench.errors import InputError, RunError, shorten
from kernbench.host.device.device import Device
from kernbench.host.torch.context import RuntimeContext
from kernbench.limits.run_options import RunOptions
from kernbench.limits.time_limit import limit_time
from kernbench.machine import load_machine
from kernbench.machine.overrides import split_settings
from kernbench.machine.setting_names import check_names, refuse_parameters
from kernbench.modes import Mode
from kernbench.replay.compare import find_mismatch
from kernbench.runs.bench import Bench, find_bench, typed_parameters
from kernbench.runs.bounds import find_bounds
from kernbench.runs.collective_metrics import list_collectives, name_algorithms
from kernbench.runs.metrics import run_metrics
from kernbench.runs.recording import RecordingDevice

if TYPE_CHECKING:
    from kernbench.host.device.launch import Launch
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program


_SIP = re.compile(r"[0-9]{1,6}")


def check_parameters(
    found: Bench, topology: str | Path, given: Mapping[str, object], fields: Mapping[str, object]
) -> Mapping[str, object]:
    owner = f"bench {found.name!r}"
    check_names(given, found.parameters, topology, owner=owner, option="parameters")
    refuse_parameters(fields, found.parameters, topology, owner=owner)
    return typed_parameters(found, given)


def run_kernels(
    found: Bench,
    machine: Machine,
    sips: range,
    parameters: Mapping[str, object],
    options: RunOptions,
    started: float,
) -> dict[str, Any]:
    """Run a bench whose kernels run on PEs; returns what is known of the run, by the names of `RunResult`.

    `started` is when the run began, in seconds as of `running_s`.
    """
    options = replace(options, live=options.live or found.live)
    analytic = options.mode == Mode.ANALYTIC
    driven = RecordingDevice(machine, options) if analytic else Device(machine, options)
    torch = RuntimeContext(driven, sips, seed=0)
    driven.stage("recording the bench")
    _call(found, torch, parameters)
    driven.run()
    if options.verify:
        driven.stage("computing the numbers")
    mismatches = _verify(found, torch) if options.verify else ()
    torch.runtime.drop_expectations()
    driven.stage("bounding the run" if analytic else "measuring the run")
    return {
        "mode": options.mode,
        "parameters": parameters,
        "wall_s": running_s() - started,
        "verified": not mismatches if options.verify else None,
        "mismatches": mismatches,
        "device": driven,
        "launches": tuple(torch.runtime.launches),
        "unmapped_lookups": driven.unmapped_lookups,
        **_list_metrics(driven, torch, options.mode),
    }


def _shown(bench: str | int | Path | Callable[..., object]) -> str:
    """A bench as it was asked for, for a message; one that is a function by its name."""
    return repr(shorten(find_bench(bench).name if callable(bench) else bench))


def record_bench(
    bench: str | int | Path | Callable[..., object],
    topology: str | Path = "sip_2x4x4",
    *,
    parameters: Mapping[str, object] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> tuple[Program, tuple[Launch, ...]]:
    """The device program of a bench, which does not run, and its launches: for `BoundModel` and `LaunchBoundModel`.

    Arguments as of `run_bench`. Errors: InputError for what cannot be recorded, such as a bench that reads numbers of its run;
    RunError for a bench that raises.
    """
    with limit_time(None, lambda: f"bench {_shown(bench)}, recording the bench"):
        found = find_bench(bench)
        own, fields = split_settings(parameters, overrides)
        given = check_parameters(found, topology, own, fields)
        machine = load_machine(topology, found.shape(given, fields))
        device = RecordingDevice(machine, RunOptions(live=found.live))
        torch = RuntimeContext(device, choose_sips(machine, "all"), seed=0)
        _call(found, torch, given)
        torch.runtime.drop_expectations()
        device.program.flush()
    return device.program, tuple(torch.runtime.launches)


def choose_sips(machine: Machine, device: str) -> range:
    """The SIPs that a run may use: "all" of them, or "sip:N". Errors: InputError."""
    count = machine.places.sip_count
    if not count:
        raise InputError(
            f"machine {machine.name} is of family {machine.family!r} and has no PEs to launch kernels on; "
            "give a topology of family 'sip'"
        )
    if device == "all":
        return range(count)
    name, _, number = device.partition(":")
    if name != "sip" or not _SIP.fullmatch(number) or int(number) >= count:
        known = ", ".join(["all", *(f"sip:{i}" for i in range(count))])
        raise InputError(f"machine {machine.name} has no device {shorten(device)!r}; known: {known}")
    return range(int(number), int(number) + 1)


def _call(found: Bench, torch: RuntimeContext, parameters: Mapping[str, object]) -> None:
    found.call(torch, parameters)
    if not torch.runtime.submitted:
        raise RunError(
            f"bench {found.name!r} at {found.place} submitted nothing; let it make tensors or launch a kernel"
        )


def _list_metrics(driven: Device, torch: RuntimeContext, mode: str) -> dict[str, Any]:
    """The metrics of a run, measured or bounded, by the names of `RunResult`."""
    issued, launches, session = torch.runtime.collectives, torch.runtime.launches, driven.session
    if mode == Mode.ANALYTIC:
        bounds = find_bounds(driven.program, launches)
        energy = EnergyFigures(driven.program).of_run(bounds.makespan_fs, bounds.upper_fs)
        collectives, metrics = list_collectives(issued), {**bounds.list_metrics(), **energy}
    else:
        collectives = list_collectives(issued, session.op_issue_fs, session.op_end_fs)
        metrics = run_metrics(session, launches)
    return {"collectives": tuple(collectives), "collective_algorithm": name_algorithms(issued), **metrics}


def _verify(found: Bench, torch: RuntimeContext) -> tuple[str, ...]:
    if not torch.runtime.expectations:
        raise RunError(f"bench {found.name!r} states nothing to verify; let it call torch.expect(tensor, reference)")
    mismatches: list[str | None] = []
    for expectation in torch.runtime.expectations:
        tensor, reference = expectation.tensor, expectation.reference
        try:
            with np.errstate(all="ignore"):
                expected = np.asarray(reference() if callable(reference) else reference)
        except (Exception, SystemExit) as error:  # a user's reference may raise anything
            raise found.raised(f"the reference of tensor {tensor.name!r}", error) from error
        for name, got in torch.runtime.list_contents(expectation):
            mismatches.append(find_mismatch(name, tensor.dtype, got, expected, expectation.tolerance))
    return tuple(mismatch for mismatch in mismatches if mismatch is not None)
