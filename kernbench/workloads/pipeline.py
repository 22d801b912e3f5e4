"""Stages of a pipeline, SIPs that have some of the layers each: the time of a step follows from that of one micro-batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kernbench.units import FS_PER_NS
from kernbench.workloads.step import list_stages


class Timed(NamedTuple):
    """What was simulated, in femtoseconds: each layer in order, what comes before and after, and a send to the next stage."""

    layers_fs: Sequence[int]
    first_fs: int
    last_fs: int
    send_fs: int


def find_stage_fs(timed: Timed, stages: int) -> list[int]:
    """The time of each stage for a micro-batch, with its send."""
    found = [sum(timed.layers_fs[part.start : part.stop]) for part in list_stages(len(timed.layers_fs), stages)]
    found[0] += timed.first_fs
    found[-1] += timed.last_fs
    return [own + (timed.send_fs if stage < stages - 1 else 0) for stage, own in enumerate(found)]


def tell_pipeline(timed: Timed, stages: int, micro_batches: int, *, again: bool) -> dict[str, Any]:
    """The time of a step of all micro-batches, in JSON's types.

    One alone takes the latency of a micro-batch and, for each further one, the slowest stage: with equal stages and m
    micro-batches on n stages (n - 1) / (m + n - 1) of the time of stages are idle (Y. Huang et al., "GPipe", arXiv 1811.06965).
    Where steps follow each other, `again`, a micro-batch begins its next when it has left the last stage, so a step takes
    the latency, or the slowest stage for each micro-batch, whichever is longer.
    """
    each = find_stage_fs(timed, stages)
    latency, slowest = sum(each), max(each)
    alone = latency + (micro_batches - 1) * slowest
    step = max(latency, micro_batches * slowest) if again else alone
    busy = sum(each) - (stages - 1) * timed.send_fs
    return {
        "stages": stages,
        "micro_batches": micro_batches,
        "step_fs": step,
        "latency_ns": latency / FS_PER_NS,
        "slowest_stage_ns": slowest / FS_PER_NS,
        "send_ns": timed.send_fs / FS_PER_NS,
        "step_alone_ns": alone / FS_PER_NS,
        "idle": 1 - micro_batches * busy / (stages * step),
    }


def time_layers(rows: Sequence[Mapping[str, Any]], sections: Sequence[str], send_fs: int) -> Timed:
    """What rows of an answer say of each layer; `sections` has that of each layer, in order."""
    total: dict[str, int] = {}
    for row in rows:
        total[row["section"]] = total.get(row["section"], 0) + row["end_fs"] - row["start_fs"]
    return Timed([total[one] for one in sections], total.get("embedding", 0), total.get("output", 0), send_fs)
