"""Running a bench of Tanto programs on a chip of Tensix cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError
from kernbench.modes import Mode
from kernbench.runs.metrics import run_metrics
from kernbench.tanto.context import TantoContext

if TYPE_CHECKING:
    from kernbench.engine import Session
    from kernbench.engine.progress import OnProgress, Stage
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program
    from kernbench.runs.bench import Bench

FAMILY = "tensix"


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
    started = perf_counter()
    context = TantoContext(machine, found.file.parent / "kernels")
    stage("recording the bench")
    found.call(context, parameters)
    stage("running the kernels")
    result = context.run(numbers=verify, mode=mode, on_progress=on_progress)
    assert result.session is not None
    assert result.device_program is not None
    mismatches = context.mismatches() if verify else ()
    stage("measuring the run")
    return {
        "mode": mode,
        "parameters": parameters,
        "wall_s": perf_counter() - started,
        "verified": not mismatches if verify else None,
        "mismatches": mismatches,
        "device": TantoDevice(result.session, result.device_program),
        **run_metrics(result.session, ()),
    }
