"""What a simulated step says of a network: its time by layer and operator, tokens a second, and both beside the least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from kernbench.units import FS_PER_NS
from kernbench.workloads.memory import Memory
from kernbench.workloads.operators import Operator, list_operators, sum_least
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
    together = step.expert_ranks
    routed = tell_routing(network.experts, together * step.tokens, step.routing) if network.experts else None
    least = list_operators(network, step, routed["distinct"] / together if routed else None)  # of one of these ranks
    counts = {f"layer {at}": plan.count(kind) for at, kind in plan.list_layers()}
    kinds = {f"layer {at}": kind for at, kind in plan.list_layers()}
    rows = [
        _tell_operator(
            mark,
            span,
            counts.get(mark.section, 1),
            [one for one in least if one.layer == kinds.get(mark.section)],
            step,
            peak,
        )
        for mark, span in zip(marks, spans_fs, strict=True)
    ]
    total_fs = sum(row["times"] * (row["end_fs"] - row["start_fs"]) for row in rows)
    pipeline, together = None, together * step.micro_batches
    if step.stages > 1:
        timed = time_layers(rows, plan.list_sections(), send_fs)
        pipeline = tell_pipeline(timed, step.stages, step.micro_batches, again=step.phase == "decode")
        total_fs = pipeline.pop("step_fs")
    whole = sum_least(least)
    least_fs = max(whole.flops / peak.flops_fs, whole.bytes / peak.bytes_fs) / step.tensor
    least_fs *= step.micro_batches / step.stages
    step_ns = total_fs / FS_PER_NS
    return {
        "name": network.name,
        "family": network.family,
        "layers": network.layers,
        "parameters": count_parameters(network),
        "active_parameters": count_active(network),
        "phase": step.phase,
        "sequences": together * step.sequences,
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
        "step_ns": step_ns,
        "tokens": together * step.tokens,
        "sequences_s": together * step.sequences * step.replicas * 1e9 / step_ns,
        "takes": "images" if network.patches else "tokens" if network.causal else "sentences",
        "user_tokens_s": step.parts[-1].tokens * 1e9 / step_ns,
        "tokens_s": together * step.tokens * step.replicas * 1e9 / step_ns,
        "least_ns": least_fs / FS_PER_NS,
        "least_flops": together * whole.flops,
        "least_bytes": together * whole.bytes,
        "share_of_least": least_fs / total_fs,
        "operators": rows,
        "not_modelled": [
            *network.not_modelled,
            *(NOT_MODELLED if network.causal else NOT_MODELLED[1:]),
            *([SKEW] if routed else []),
            *inexact,
            *_list_of_stages(step),
        ],
    }


def _tell_operator(
    mark: Mark, span_fs: tuple[int, int], times: int, least: Sequence[Operator], step: Step, peak: Peak
) -> Mapping[str, Any]:
    start_fs, end_fs = span_fs
    fs = end_fs - start_fs
    done = [one for one in least if one.name in _DOES.get(mark.operator, ())]
    flops = sum(one.flops for one in done) / step.tensor
    moved = sum(one.bytes for one in done) / step.tensor
    needs = {"compute": flops / peak.flops_fs, "memory": moved / peak.bytes_fs}
    bound = max(needs, key=lambda name: needs[name]) if done else None
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
        "share_of_peak": needs[bound] / fs if bound else None,
    }


def _list_of_stages(step: Step) -> list[str]:
    return (
        ["the energy of sends between stages, and what several of them take from each other"] if step.stages > 1 else []
    )
