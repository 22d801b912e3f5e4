"""What a run reports of each collective: how long it took on the PEs, and what it cannot take less than."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernbench.ccl.cost import Cost
from kernbench.dtypes import itemsize
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import numpy as np

    from kernbench.host.collectives import Collective


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
    bound_ns = find_bound(one)
    return {
        "collective": one.name,
        "algorithm": one.algorithm.name,
        "sip_topology": one.group.topology,
        "world_size": one.group.world_size,
        "participants": one.world.ranks * one.world.cubes,
        "bytes_per_pe": one.nbytes,
        "buffer_kind": one.group.config.queues(one.name).kind,
        "latency_ns": latency_ns,
        "bound_ns": bound_ns,
        "times_bound": latency_ns / bound_ns if latency_ns is not None and bound_ns else None,
    }


def find_bound(one: Collective) -> float | None:
    """The lower bound that the algorithm states for itself, in ns."""
    if one.algorithm.bound is None:
        return None
    machine, slot_bytes = one.group.device.machine, one.plan.chunk * itemsize(one.plan.dtype)
    cost = Cost(machine, one.algorithm.neighbours, one.world, one.group.sips, one.cube, one.pe, slot_bytes)
    return float(one.algorithm.bound(cost, one.world, one.nbytes, one.plan))
