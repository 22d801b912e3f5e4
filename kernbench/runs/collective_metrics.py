"""Metrics of each collective of a run: its latency on the PEs and its lower bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernbench.ccl.alpha_beta import Cost
from kernbench.ccl.choice import AUTO
from kernbench.ccl.task_bound import TaskBound, buffer_bytes, bus_factor, find_task_bound
from kernbench.dtypes import itemsize
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import numpy as np

    from kernbench.host.torch.collectives import Collective


def list_collectives(
    issued: list[Collective], issue_fs: np.ndarray | None = None, end_fs: np.ndarray | None = None
) -> list[dict[str, Any]]:
    """A mapping for each collective, in the order of their calls; without times (int64[row]) they say None.

    `latency_ns` is from the first PE that starts on any SIP to the last that ends; `task_bound_ns` what no algorithm can take
    less than, by `task_bound_by`; `bound_ns` the closed form of the algorithm with this machine's alpha and beta, None where
    the algorithm has none. `algbw_gbs` and `busbw_gbs` are those of communication libraries: see `docs/collectives.md`.
    """
    known: dict[tuple[Any, ...], TaskBound] = {}  # of the tasks so far: those of a loop are the same
    return [_describe(one, issue_fs, end_fs, known) for one in issued]


def name_algorithms(issued: list[Collective]) -> str | None:
    """The algorithms of collectives, each once, in the order of their first calls; None if there are no collectives."""
    return ", ".join(dict.fromkeys(one.work.algorithm.name for one in issued)) or None


def _describe(
    one: Collective,
    issue_fs: np.ndarray | None,
    end_fs: np.ndarray | None,
    known: dict[tuple[Any, ...], TaskBound],
) -> dict[str, Any]:
    latency_ns = None
    if issue_fs is not None and end_fs is not None:
        start = min(launch.started_fs(end_fs) for launch in one.launches)
        latency_ns = (max(launch.finished_fs(issue_fs) for launch in one.launches) - start) / FS_PER_NS
    group, work = one.group, one.work
    queues = group.slots_of(work.algorithm, work.world, work.cubes, work.pes)
    bound_ns, task = find_bound(one), one.task
    key = work.collective, task
    if key not in known:
        known[key] = find_task_bound(group.device.machine, *key)
    task_bound = known[key]
    algbw_gbs = buffer_bytes(*key) / latency_ns if latency_ns else None
    return {
        "collective": work.collective,
        "algorithm": work.algorithm.name,
        "sip_topology": group.topology,
        "world_size": group.world_size,
        "participants": work.world.ranks * work.world.cubes,
        "bytes_per_pe": one.nbytes,
        "buffer_kind": queues.kind,
        "n_slots": queues.n_slots,
        "slot_bytes": queues.slot_bytes,
        "piece_bytes": work.plan.chunk * itemsize(work.plan.dtype),
        "chosen": group.config.algorithm(work.collective)[0] == AUTO,
        "estimate_ns": work.choice.estimate_ns,
        "latency_ns": latency_ns,
        "algbw_gbs": algbw_gbs,
        "busbw_gbs": None if algbw_gbs is None else algbw_gbs * bus_factor(work.collective, len(task[0].members)),
        "task_bound_ns": task_bound.ns,
        "task_bound_by": task_bound.by,
        "times_task_bound": _over(latency_ns, task_bound.ns),
        "bound_ns": bound_ns,
        "times_bound": _over(latency_ns, bound_ns),
    }


def _over(latency_ns: float | None, bound_ns: float | None) -> float | None:
    return latency_ns / bound_ns if latency_ns is not None and bound_ns else None


def find_bound(one: Collective) -> float | None:
    """The lower bound that the algorithm states for itself, in ns."""
    group, work = one.group, one.work
    if work.algorithm.bound is None:
        return None
    slot_bytes = work.plan.chunk * itemsize(work.plan.dtype)
    places = group.sips, work.cubes[0], work.pes[0]
    cost = Cost(group.device.machine, work.algorithm.neighbours, work.world, *places, slot_bytes)
    return work.algorithm.bound(cost, work.world, one.nbytes, work.plan)
