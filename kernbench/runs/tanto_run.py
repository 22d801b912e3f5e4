"""Running a bench of Tanto programs, or a program file, on a chip of Tensix cores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernbench.engine.jit_status import running_s
from kernbench.engine.progress import Stage
from kernbench.errors import InputError, RunError, shorten
from kernbench.limits.time_limit import limit_time
from kernbench.machine import load_machine
from kernbench.modes import Mode
from kernbench.runs.metrics import run_metrics
from kernbench.runs.result import RunResult
from kernbench.tanto.context import TantoContext
from kernbench.tanto.device import Device
from kernbench.tanto.program_file import load_program
from kernbench.tanto.program_settings import read_inputs
from kernbench.tanto.run import TantoResult, run_program

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.engine import Session
    from kernbench.engine.progress import OnProgress, OnStage
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program
    from kernbench.runs.bench import Bench
    from kernbench.tanto.loading import KernelFiles


@dataclass(slots=True)
class TantoDevice:
    """What a result keeps of a run: its session and program."""

    session: Session
    program: Program
    unmapped_lookups: int = 0


def run_tanto_bench(
    found: Bench,
    machine: Machine,
    parameters: Mapping[str, object],
    mode: str,
    *,
    verify: bool,
    stage: Stage,
    on_progress: OnProgress | None,
) -> dict[str, Any]:
    """The fields of a `RunResult` that follow from the run. Errors: InputError for mode analytic; those of the run."""
    if mode == Mode.ANALYTIC:
        raise InputError(f"bench {found.name!r} is one of Tanto programs, which have no analytic mode; use mode hybrid")
    started = running_s()
    context = TantoContext(machine, found.file.parent / "kernels")
    stage("recording the bench")
    found.call(context, parameters)
    stage("running the kernels")
    result = context.run(numbers=verify, mode=mode, on_progress=on_progress)
    mismatches = context.mismatches() if verify else ()
    stage("measuring the run")
    return {
        "mode": mode,
        "parameters": parameters,
        "wall_s": running_s() - started,
        "verified": not mismatches if verify else None,
        "mismatches": mismatches,
        **_measure(result),
    }


def run_program_file(
    path: Path,
    files: KernelFiles,
    topology: str,
    *,
    inputs: Iterable[str] = (),
    defines: Mapping[str, str] | None = None,
    parameters: Mapping[str, object],
    overrides: Mapping[str, object],
    mode: str,
    time_limit: float | None,
    on_stage: OnStage,
    on_progress: OnProgress | None,
) -> RunResult:
    """Run a program file for its times; `inputs` are texts ID=FILE. Errors: InputError; RunError for a deadlock."""
    started, stage = running_s(), Stage(on_stage)
    with limit_time(time_limit, lambda: f"program {shorten(str(path))}, {stage.text}"):
        stage("compiling the machine")
        machine = load_machine(topology, dict(overrides))
        device, program = Device(machine, defines=defines), load_program(path)
        device.initial = read_inputs(inputs, [program], "inputs")
        stage("running the kernels")
        result = run_program(device, program, files, name=str(path), numbers=False, mode=mode, on_progress=on_progress)
        if result.error:
            raise RunError(result.error)
        stage("measuring the run")
        return measure_program(
            result, mode=mode, parameters=parameters, overrides=overrides, wall_s=running_s() - started
        )


def measure_program(
    result: TantoResult,
    *,
    mode: str,
    parameters: Mapping[str, object],
    overrides: Mapping[str, object],
    wall_s: float,
    request: Mapping[str, Any] | None = None,
) -> RunResult:
    """The result of a program that came to its end."""
    assert result.session is not None
    return RunResult(
        bench=result.program,
        topology=result.session.machine.name,
        mode=mode,
        parameters=dict(parameters),
        overrides=dict(overrides),
        wall_s=wall_s,
        verified=None,
        mismatches=(),
        request=request,
        **_measure(result),
    )


def _measure(result: TantoResult) -> dict[str, Any]:
    """The fields of a `RunResult` that a program's result has."""
    assert result.session is not None
    assert result.device_program is not None
    device = TantoDevice(result.session, result.device_program)
    return {"device": device, "warnings": result.told, **run_metrics(result.session, ())}
