"""Metrics of each collective of a run: its latency on the PEs and its lower bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernbench.ccl.alpha_beta import Cost
from kernbench.dtypes import itemsize
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import numpy as np

    from kernbench.host.torch.collectives import Collective


def list_collectives(
    issued: list[Collective], issue_fs: np.ndarray | None = None, end_fs: np.ndarray | None = None
) -> list[dict[str, Any]]:
    """A mapping for each collective, in the order of their calls; without times (int64[row]) they say None.

    `latency_ns` is from the first PE that starts on any SIP to the last that ends; `bound_ns` the closed form of the
    algorithm with this machine's alpha and beta, None where the algorithm has none.
    """
    return [_describe(one, issue_fs, end_fs) for one in issued]


def _describe(one: Collective, issue_fs: np.ndarray | None, end_fs: np.ndarray | None) -> dict[str, Any]:
    latency_ns = None
    if issue_fs is not None and end_fs is not None:
        start = min(launch.started_fs(end_fs) for launch in one.launches)
        latency_ns = (max(launch.finished_fs(issue_fs) for launch in one.launches) - start) / FS_PER_NS
    group, work = one.group, one.work
    bound_ns = find_bound(one)
    return {
        "collective": work.collective,
        "algorithm": work.algorithm.name,
        "sip_topology": group.topology,
        "world_size": group.world_size,
        "participants": work.world.ranks * work.world.cubes,
        "bytes_per_pe": one.nbytes,
        "buffer_kind": group.config.queues(work.collective).kind,
        "latency_ns": latency_ns,
        "bound_ns": bound_ns,
        "times_bound": latency_ns / bound_ns if latency_ns is not None and bound_ns else None,
    }


def find_bound(one: Collective) -> float | None:
    """The lower bound that the algorithm states for itself, in ns."""
    group, work = one.group, one.work
    if work.algorithm.bound is None:
        return None
    slot_bytes = work.plan.chunk * itemsize(work.plan.dtype)
    places = group.sips, work.cubes[0], work.pes[0]
    cost = Cost(group.device.machine, work.algorithm.neighbours, work.world, *places, slot_bytes)
    return float(work.algorithm.bound(cost, work.world, one.nbytes, work.plan))
