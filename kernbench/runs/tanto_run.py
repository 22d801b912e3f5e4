"""Running a bench of Tanto programs on a chip of Tensix cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, shorten
from kernbench.modes import Mode
from kernbench.runs.bench import TANTO
from kernbench.runs.metrics import run_metrics
from kernbench.tanto.context import TantoContext

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.engine import Session
    from kernbench.engine.progress import OnProgress, Stage
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program
    from kernbench.runs.bench import Bench

FAMILY = "tensix"


def refuse_family(found: Bench, topology: str | Path, family: str) -> str | None:
    """Why a bench cannot run on a machine of a family, if so: benches of Tanto programs take chips, and no others do."""
    if found.is_tanto and family != FAMILY:
        return (
            f"bench {found.name!r} is one of Tanto programs, which run on family {FAMILY!r}, and topology "
            f"{shorten(str(topology))!r} is of family {family!r}; give one such as wormhole_n150"
        )
    if family == FAMILY and not found.is_tanto:
        return (
            f"topology {shorten(str(topology))!r} is of family {FAMILY!r}, which runs Tanto programs, and bench {found.name!r} "
            f"is none; give one whose name begins with {TANTO!r}, or a topology of family 'sip'"
        )
    return None


def check_family(found: Bench, topology: str | Path, family: str) -> None:
    """Check that a bench can run on a machine of a family. Errors: InputError."""
    if refusal := refuse_family(found, topology, family):
        raise InputError(refusal)


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
