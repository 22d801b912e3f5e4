"""Points of a sweep over machines: the step of a network is recorded once, and runs again where only times differ.

What holds for recordings of benches holds here (`runs.recording`): a step whose kernels or choices looked at a figure that
differs is recorded again. The latest recording is kept, since points come in groups.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kernbench.engine.jit_status import running_s
from kernbench.limits.run_options import RunOptions
from kernbench.machine.families.registry import may_vary
from kernbench.machine.variants import Variants
from kernbench.runs.metrics import run_metrics
from kernbench.runs.recording import Recording, record

if TYPE_CHECKING:
    from kernbench.frontends.bench_runs import Run
    from kernbench.frontends.network_workloads import NetworkWorkload
    from kernbench.frontends.prepared import Request
    from kernbench.machine.machine import Machine
    from kernbench.workloads.sip.run import Ran


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A step that was recorded on `variants.base`."""

    identity: tuple[str, ...]
    variants: Variants
    recording: Recording | None  # None: it asks for what it finds, so each run records it again
    ran: Ran | None


class _Kept(threading.local):
    """The latest recording of a thread."""

    def __init__(self) -> None:
        self.latest: _Recorded | None = None


_kept = _Kept()


def find_rerun(workload: NetworkWorkload, request: Request, given: Mapping[str, object]) -> Run | None:
    """What runs a request on a recording, and lets `workload` know what was launched; None if it has to run by itself.

    `given` are the parameters, checked. Errors: LimitError while it is recorded.
    """
    figures = {field: value for field, value in request.fields.items() if may_vary(field)}
    fixed = {field: value for field, value in request.fields.items() if field not in figures}
    identity = (repr(workload.digests), str(request.machine), repr(sorted(given.items())), repr(sorted(fixed.items())))
    if _kept.latest is None or _kept.latest.identity != identity:
        _kept.latest = None  # before the next is made: it may need the memory
        _kept.latest = _record(workload, request, given, fixed, identity)
    kept = _kept.latest
    machine = kept.variants.machine(figures)
    if kept.recording is None or kept.ran is None or machine is None:
        return None
    base = kept.variants.base.figures
    if any(machine.figures[field] != base[field] for field in kept.recording.looked_at):
        return None
    workload.ran[:] = [kept.ran]
    return partial(_run, kept.recording, machine, given, request.options)


def _record(
    workload: NetworkWorkload,
    request: Request,
    given: Mapping[str, object],
    fixed: Mapping[str, object],
    identity: tuple[str, ...],
) -> _Recorded:
    request.options.stage("recording the bench")
    variants = Variants(request.machine, workload.of.shape(given, fixed))
    ranks = range(workload.make_step(given).ranks)
    recording = None
    if variants.base.flow_control is None:
        recording = record(workload.of, variants.base, given, ranks, request.options.limits)
    return _Recorded(identity, variants, recording, workload.ran[0] if recording else None)


def _run(
    recording: Recording, machine: Machine, given: Mapping[str, object], options: RunOptions, started: float
) -> dict[str, Any]:
    """The run on a machine, by the names of `RunResult`; of the device there are the program and its run."""
    options.stage("simulating")
    session = recording.run(machine, options.mode, options.on_progress)
    wall_s = running_s() - started
    options.stage("measuring the run")
    return {
        "mode": options.mode,
        "parameters": given,
        "wall_s": wall_s,
        "verified": None,
        "mismatches": (),
        "device": SimpleNamespace(program=session.program, session=session),
        "launches": tuple(recording.launches),
        "collective_algorithm": recording.collective_algorithm,
        **run_metrics(session, recording.launches),
    }
