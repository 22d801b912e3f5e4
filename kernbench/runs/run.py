"""Running a bench on a machine: the one entry point for the command line, sweeps, tests and users."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.engine.jit_status import running_s
from kernbench.engine.progress import Stage
from kernbench.errors import InputError, RunError, shorten
from kernbench.host.device.device import Device
from kernbench.host.torch.context import RuntimeContext
from kernbench.limits.run_limits import RunLimits, read_limits
from kernbench.limits.time_limit import limit_time
from kernbench.machine import load_machine
from kernbench.machine.overrides import split_settings
from kernbench.machine.setting_names import check_names, refuse_parameters
from kernbench.modes import RUN_MODES, Mode, check_mode
from kernbench.replay.compare import find_mismatch
from kernbench.runs.bench import Bench, find_bench, typed_parameters
from kernbench.runs.bench_family import check_family
from kernbench.runs.bounds import find_bounds
from kernbench.runs.collective_metrics import list_collectives, name_algorithms
from kernbench.runs.metrics import run_metrics
from kernbench.runs.recording import RecordingDevice
from kernbench.runs.request import note_request
from kernbench.runs.result import RunResult

if TYPE_CHECKING:
    from kernbench.engine.progress import OnProgress, OnStage
    from kernbench.host.device.launch import Launch
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program


_SIP = re.compile(r"[0-9]{1,6}")


def run_bench(
    bench: str | int | Path | Callable[..., object],
    topology: str | Path = "sip_2x4x4",
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
    """Run a bench, by name, index, path or as the decorated function, on a machine by name or path.

    `parameters` override the bench's keyword defaults, `overrides` fields of the topology by dotted path; a field may be
    in either by its name in grids and tables, "topology.hbm.channel_gbs". `verify` also
    computes the numbers and compares them with the bench's references; `live` runs kernels step by step with their data,
    as some benches always do; `device` is `all` or `sip:N`. `mode` is "hybrid" or "flit", which give the same times, or
    "analytic", which runs nothing and gives bounds. `time_limit` is in seconds, or a text such as "10 min"; `op_limit` is of
    the operations of all kernels, by default as many as free memory holds. `count_waits` counts what flits wait for on a
    machine with credits, for `RunResult.explain`. `on_stage(text)` is called with what is done next, `on_progress` during
    long runs as by `Session.run`.

    Errors: InputError for what cannot be run; RunError and its kinds for a run that fails, LimitError among them. Wrong
    numbers are no error here: they make `verified` False.
    """
    limits = read_limits(time_limit, op_limit)
    stage = Stage(on_stage)
    with limit_time(limits.time_s, lambda: f"bench {_shown(bench)}, {stage.text}"):
        return _run(
            bench, topology, mode, parameters, overrides, verify, live, device, limits, count_waits, stage, on_progress
        )


def _run(
    bench: str | int | Path | Callable[..., object],
    topology: str | Path,
    mode: str,
    parameters: Mapping[str, object] | None,
    overrides: Mapping[str, object] | None,
    verify: bool,
    live: bool,
    device: str,
    limits: RunLimits,
    count_waits: bool,
    stage: Stage,
    on_progress: OnProgress | None,
) -> RunResult:
    started = running_s()
    check_mode(mode, RUN_MODES)
    if verify and mode == Mode.ANALYTIC:
        raise InputError("analytic mode computes no numbers that could be verified; use mode hybrid")
    found = find_bench(bench)
    own, fields = split_settings(parameters, overrides)
    given = _type_parameters(found, topology, own, fields)
    stage("compiling the machine")
    machine = load_machine(topology, found.shape(given, fields))
    check_family(found, topology, machine.family)
    request = note_request(found, topology, device, live=live, set_names=own, machine=machine)
    live = live or found.live
    if found.is_tanto:
        from kernbench.runs.tanto_run import run_tanto_bench

        ran = run_tanto_bench(found, machine, given, mode, verify=verify, stage=stage, on_progress=on_progress)
    else:
        if mode == Mode.ANALYTIC:
            driven = RecordingDevice(machine, live=live, limits=limits)
        else:
            driven = Device(machine, mode, live, limits, count_waits=count_waits)
        driven.stage, driven.on_progress = stage, on_progress
        ran = _run_on(driven, found, choose_sips(machine, device), given, mode, started, verify=verify)
    return RunResult(bench=found.name, topology=machine.name, overrides=fields, request=request, **ran)


def _type_parameters(
    found: Bench, topology: str | Path, given: Mapping[str, object], fields: Mapping[str, object]
) -> Mapping[str, object]:
    owner = f"bench {found.name!r}"
    check_names(given, found.parameters, topology, owner=owner, option="parameters")
    refuse_parameters(fields, found.parameters, topology, owner=owner)
    return typed_parameters(found, given)


def _run_on(
    driven: Device,
    found: Bench,
    sips: range,
    parameters: Mapping[str, object],
    mode: str,
    started: float,
    *,
    verify: bool,
) -> dict[str, Any]:
    """Run a bench of kernels on a device; returns what is known of the run after it, by the names of `RunResult`."""
    torch = RuntimeContext(driven, sips, seed=0)
    driven.stage("recording the bench")
    _call(found, torch, parameters)
    driven.run()
    if verify:
        driven.stage("computing the numbers")
    mismatches = _verify(found, torch) if verify else ()
    torch.runtime.drop_expectations()
    driven.stage("bounding the run" if mode == Mode.ANALYTIC else "measuring the run")
    return {
        "mode": mode,
        "parameters": parameters,
        "wall_s": running_s() - started,
        "verified": not mismatches if verify else None,
        "mismatches": mismatches,
        "device": driven,
        "launches": tuple(torch.runtime.launches),
        "unmapped_lookups": driven.unmapped_lookups,
        **_list_metrics(driven, torch, mode),
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
        given = _type_parameters(found, topology, own, fields)
        machine = load_machine(topology, found.shape(given, fields))
        device = RecordingDevice(machine, live=found.live)
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
        collectives, metrics = list_collectives(issued), find_bounds(driven.program, launches).list_metrics()
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
