"""What a simulated step says of a network: its time by layer and operator, tokens a second, and both beside the least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from kernbench.units import FS_PER_NS
from kernbench.workloads.memory import Memory
from kernbench.workloads.operators import Least, Operator, list_operators, sum_least
from kernbench.workloads.pipeline import tell_pipeline, time_layers
from kernbench.workloads.plan import Mark, Plan
from kernbench.workloads.routing import SKEW, tell_routing
from kernbench.workloads.step import Step
from kernbench.workloads.totals import count_active, count_parameters

# The operators of `workloads.operators` that the launches of one name do.
_DOES = {
    "embedding": ("patches",),
    "q, k, v": ("q", "k", "v", "q_a", "q_b", "kv_a"),
    "attention": ("attention", "kv_b"),
    "o": ("o",),
    "gate, up": ("gate", "up"),
    "gate": ("gate",),
    "up": ("up",),
    "down": ("down",),
    "router": ("router", "shared_router"),
    "experts' gate, up": ("expert_gate", "expert_up", "shared_gate", "shared_up"),
    "experts' down": ("expert_down", "shared_down"),
    "lm_head": ("lm_head",),
    "pooler": ("pooler",),
    "classes": ("classes",),
}
NOT_MODELLED = ("the choice of the next token from the logits", "requests that wait, come and go")
TFLOPS_PER_FLOP_FS = 1e3  # a flop a femtosecond is 1,000 TFLOPS


class Peak(NamedTuple):
    """Of a SIP, or a chip: what its matrix engines and its memory can do in a femtosecond, and the bytes that it holds."""

    flops_fs: float
    bytes_fs: float
    held: int
    place: str = "SIP"


def tell_step(
    plan: Plan,
    step: Step,
    memory: Memory,
    peak: Peak,
    marks: Sequence[Mark],
    spans_fs: Sequence[tuple[int, int]],
    inexact: Sequence[str],
    send_fs: int = 0,
) -> dict[str, Any]:
    """The answer in JSON's types; `spans_fs` is the start and end of each mark. A layer counts for all of its kind.

    `send_fs` is the time of a send between stages of a pipeline.
    """
    network = plan.network
    sequences, tokens = step.expert_ranks * step.sequences, step.expert_ranks * step.tokens  # of a micro-batch
    routed = tell_routing(network.experts, tokens, step.routing) if network.experts else None
    least = list_operators(network, step, routed["distinct"] / step.expert_ranks if routed else None)  # of one rank
    rows = _tell_operators(plan, least, step, peak, marks, spans_fs)
    total_fs, pipeline = _find_time(rows, plan, step, send_fs)
    sequences, tokens = step.micro_batches * sequences, step.micro_batches * tokens
    return {
        "name": network.name,
        "family": network.family,
        "layers": network.layers,
        "parameters": count_parameters(network),
        "active_parameters": count_active(network),
        "phase": step.phase,
        "sequences": sequences,
        "routing": routed,
        "types": asdict(step.types),
        "tensor": step.tensor,
        "expert_ranks": step.expert_ranks,
        "micro_batches": step.micro_batches,
        "pipeline": pipeline,
        "replicas": step.replicas,
        "sips": step.sips,
        "memory_bytes": {"weights": memory.weights, "cache": memory.cache, "activations": memory.activations},
        "place": peak.place,
        "sip_bytes": peak.held,
        "peak_tflops": peak.flops_fs * TFLOPS_PER_FLOP_FS,
        "peak_gbs": peak.bytes_fs * FS_PER_NS,
        "step_fs": total_fs,
        "tokens": tokens,
        "takes": "images" if network.patches else "tokens" if network.causal else "sentences",
        **_tell_rates(step, sequences, tokens, total_fs / FS_PER_NS),
        **_tell_least(sum_least(least), step, peak, total_fs),
        "operators": rows,
        "not_modelled": [
            *network.not_modelled,
            *(NOT_MODELLED if network.causal else NOT_MODELLED[1:]),
            *([SKEW] if routed else []),
            *inexact,
            *_list_of_stages(step),
        ],
    }


def find_bound(flops: float, nbytes: float, fs: float, peak: Peak) -> tuple[str, float]:
    """What bounds work that took a time, compute or memory, and the share of that peak that it reached."""
    needs = {"compute": flops / peak.flops_fs, "memory": nbytes / peak.bytes_fs}
    bound = max(needs, key=lambda name: needs[name])
    return bound, needs[bound] / fs


def _find_time(
    rows: Sequence[Mapping[str, Any]], plan: Plan, step: Step, send_fs: int
) -> tuple[int, dict[str, Any] | None]:
    """The time of a step of all layers, and what is told of its pipeline; None without one."""
    if step.stages == 1:
        return sum(row["times"] * (row["end_fs"] - row["start_fs"]) for row in rows), None
    timed = time_layers(rows, plan.list_sections(), send_fs)
    pipeline = tell_pipeline(timed, step.stages, step.micro_batches, again=step.phase == "decode")
    return pipeline.pop("step_fs"), pipeline


def _tell_rates(step: Step, sequences: int, tokens: int, step_ns: float) -> dict[str, float]:
    """The time of a step and what it makes in a second, of all micro-batches."""
    return {
        "step_ns": step_ns,
        "sequences_s": sequences * step.replicas * 1e9 / step_ns,
        "user_tokens_s": step.parts[-1].tokens * 1e9 / step_ns,
        "tokens_s": tokens * step.replicas * 1e9 / step_ns,
    }


def _tell_least(least: Least, step: Step, peak: Peak, total_fs: int) -> dict[str, float]:
    """The least time, flops and bytes of a step; `least` are those of one rank of experts and one micro-batch."""
    least_fs = max(least.flops / peak.flops_fs, least.bytes / peak.bytes_fs) / step.tensor
    least_fs *= step.micro_batches / step.stages
    ranks = step.expert_ranks * step.micro_batches
    return {
        "least_ns": least_fs / FS_PER_NS,
        "least_flops": ranks * least.flops,
        "least_bytes": ranks * least.bytes,
        "share_of_least": least_fs / total_fs,
    }


def _tell_operators(
    plan: Plan,
    least: Sequence[Operator],
    step: Step,
    peak: Peak,
    marks: Sequence[Mark],
    spans_fs: Sequence[tuple[int, int]],
) -> list[dict[str, Any]]:
    kinds = {f"layer {at}": kind for at, kind in plan.list_layers()}
    return [
        _tell_operator(
            mark,
            span,
            plan.count(kinds[mark.section]) if mark.section in kinds else 1,
            [one for one in least if one.layer == kinds.get(mark.section)],
            step,
            peak,
        )
        for mark, span in zip(marks, spans_fs, strict=True)
    ]


def _tell_operator(
    mark: Mark, span_fs: tuple[int, int], times: int, least: Sequence[Operator], step: Step, peak: Peak
) -> dict[str, Any]:
    start_fs, end_fs = span_fs
    fs = end_fs - start_fs
    done = [one for one in least if one.name in _DOES.get(mark.operator, ())]
    flops = sum(one.flops for one in done) / step.tensor
    moved = sum(one.bytes for one in done) / step.tensor
    bound, share = find_bound(flops, moved, fs, peak) if done else (None, None)
    return {
        "section": mark.section,
        "operator": mark.operator,
        "times": times,
        "start_fs": start_fs,
        "end_fs": end_fs,
        "ns": fs / FS_PER_NS,
        "flops": flops,
        "bytes": moved,
        "bound": bound,
        "share_of_peak": share,
    }


def _list_of_stages(step: Step) -> list[str]:
    return (
        ["the energy of sends between stages, and what several of them take from each other"] if step.stages > 1 else []
    )
