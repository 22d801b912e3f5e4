"""How busy the parts of a machine were in a run of task graphs: threads, cores, and what kernels used; and the bottleneck.

The processors of threads have the classes of what runs on them: the orchestrator bounds a run in another way than schedulers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.oplog.utilisation import Bottleneck, Parts, find_bottlenecks, list_parts
from kernbench.pto.results.record import ORCHESTRATOR, Phase
from kernbench.pto.results.runtime_rows import find_processor, find_role
from kernbench.runs.metrics import busy_of_run

if TYPE_CHECKING:
    from kernbench.pto.launch import Outcome

_IDLE = (Phase.BLOCKED, Phase.START_UP)


class Usage(NamedTuple):
    """How long (fs) each part was busy: int64[part]. The bottleneck is the busiest class; None if nothing was busy."""

    parts: Parts
    busy_fs: np.ndarray
    bottleneck: Bottleneck | None

    def to_dict(self) -> dict[str, str | float | None]:
        """The bottleneck by the names of `RunResult`."""
        found = self.bottleneck
        return {
            "bottleneck": found and found.kind,
            "bottleneck_part": found and found.part,
            "bottleneck_utilisation": found.utilisation if found else 0.0,
        }


def _find_parts(outcome: Outcome) -> Parts:
    """The parts of the machine of a run."""
    parts = list_parts(outcome.session.machine)
    threads = [ORCHESTRATOR, *(scheduler.number for scheduler in outcome.device.schedulers)]
    runs = {find_processor(outcome, thread): find_role(thread) for thread in threads}
    return parts._replace(kind=tuple(runs.get(name, kind) for name, kind in zip(parts.name, parts.kind, strict=True)))


def _find_busy(outcome: Outcome) -> np.ndarray:
    """int64[part] how long (fs) each part was busy: what kernels used by the program, threads and cores by the record."""
    busy_fs, _ = busy_of_run(outcome.session, ())
    device = outcome.device
    server = {name: at for at, name in enumerate(device.machine.server_name)}
    for row in outcome.record.phases:
        if row.phase not in _IDLE:
            busy_fs[server[find_processor(outcome, row.thread)]] += row.end_fs - row.start_fs
    busy_fs[[core.place.server for core in device.cores]] = 0
    for row in outcome.record.blocks:
        busy_fs[device.cores[row.core].place.server] += row.end_fs - row.start_fs
    return busy_fs


def find_usage(outcome: Outcome) -> Usage:
    """The parts of the machine of a run, how long each was busy, and the bottleneck over the run."""
    parts, busy_fs, span_fs = _find_parts(outcome), _find_busy(outcome), np.array([outcome.end_fs])
    (found,) = find_bottlenecks(parts, np.arange(len(busy_fs)), busy_fs[None].astype(np.float64), span_fs)
    return Usage(parts, busy_fs, found)
