"""What bounds a run: the same run with one thing twice as fast or twice as large, simulated again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kernbench.pto.settings import SECTION
from kernbench.runs.what_if import Alternative, WhatIf
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.pto.launch import Outcome

Rerun = Callable[[Mapping[str, object], float], "Outcome"]  # of fields of the topology, and how much faster cores are


def _times(*names: str) -> tuple[str, ...]:
    return tuple(f"{SECTION}.{name}_ns" for name in names)


FASTER: dict[str, tuple[str, ...]] = {  # fields that are halved
    "submission": (
        *_times("sync", "alloc", "copy", "lookup", "chain", "edge", "heap", "insert", "publish", "scope", "build_task"),
        *_times("build_edge"),
        "npu_host.task_ns",
    ),
    "dispatch": (
        *_times("complete", "notify", "retire", "pop", "steal", "payload", "push", "scan", "probe", "lock"),
        "aicpu.load_ns",
        "aicpu.store_ns",
    ),
    "hand-over": (*_times("switch", "first"), "aicpu.doorbell_ns", "aicpu.cond_ns"),
}
LARGER: dict[str, tuple[str, ...]] = {  # fields that are doubled
    "task ring": (f"{SECTION}.task_window",),
    "heap": (f"{SECTION}.heap_bytes",),
    "memory": (
        "l2.channel_gbs", "gm_hbm.channel_gbs", "aic.read_gbs", "aic.write_gbs", "aiv.read_gbs", "aiv.write_gbs"
    ),
}  # fmt: skip
CORES = "cores"
CLOCKS = ("aic.clock_ghz", "aiv.clock_ghz")


def find_what_ifs(outcome: Outcome, rerun: Rerun) -> WhatIf:
    """The run again with each thing twice as fast or large, the one that saves most first.

    It is simulated from the start, since what the runtime decides depends on time: no recorded program would be right.
    """
    machine, latency_ns, found = outcome.device.machine, outcome.end_fs / FS_PER_NS, list[Alternative]()
    for name, fields, speed in _changes(machine):
        again_ns = rerun(fields, speed).end_fs / FS_PER_NS
        changed = {field: (machine.figures[field], value) for field, value in fields.items()}
        found.append(Alternative(changed, again_ns, again_ns / latency_ns - 1, name))
    return WhatIf(2, latency_ns, tuple(sorted(found, key=lambda each: (each.latency_ns, each.name))))


def _changes(machine: Machine) -> list[tuple[str, dict[str, float], float]]:
    """Name, fields and speed of cores of each change."""
    figures, changes = machine.figures, list[tuple[str, dict[str, float], float]]()
    for name, fields in FASTER.items():
        changes.append((name, {field: figures[field] / 2 for field in fields}, 1.0))
    for name, fields in LARGER.items():
        changes.append((name, {field: 2 * figures[field] for field in fields}, 1.0))
    changes.append((CORES, {field: 2 * figures[field] for field in CLOCKS}, 2.0))
    return changes
