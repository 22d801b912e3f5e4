"""What a simulated graph says: images or sequences a second, its time by kind and by node, and both beside the least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernbench.units import FS_PER_NS
from kernbench.workloads.answer import TFLOPS_PER_FLOP_FS, Peak, find_bound
from kernbench.workloads.graph.form import Graph
from kernbench.workloads.sip.graph_plan import Unit

NOT_MODELLED = ("copies of inputs and outputs from and to the host",)


def tell_graph(
    graph: Graph,
    units: Sequence[tuple[Unit, int]],
    spans_fs: Sequence[tuple[int, int]],
    peak: Peak,
    held: Mapping[str, int],
    inexact: Sequence[str] = (),
) -> dict[str, Any]:
    """The answer in JSON's types; `spans_fs` is the start and end of each unit."""
    rows = [_tell_unit(graph, unit, times, span, peak) for (unit, times), span in zip(units, spans_fs, strict=True)]
    total_fs = sum(row["times"] * (row["end_fs"] - row["start_fs"]) for row in rows)
    flops = sum(row["times"] * row["flops"] for row in rows)
    moved = graph.weight_bytes + _ends(graph)
    least_fs = max(flops / peak.flops_fs, moved / peak.bytes_fs)
    step_ns = total_fs / FS_PER_NS
    return {
        "name": graph.name,
        "family": "graph",
        "layers": len(graph.operators),
        "parameters": graph.parameters,
        "active_parameters": graph.parameters,
        "phase": "inference",
        "sequences": graph.batch,
        "tokens": graph.batch,
        "nodes": dict(graph.nodes),
        "views": graph.views,
        "fused": dict(graph.fused),
        "tensor": 1,
        "replicas": 1,
        "micro_batches": 1,
        "memory_bytes": dict(held),
        "sip_bytes": peak.held,
        "peak_tflops": peak.flops_fs * TFLOPS_PER_FLOP_FS,
        "peak_gbs": peak.bytes_fs * FS_PER_NS,
        "step_fs": total_fs,
        "step_ns": step_ns,
        "sequences_s": graph.batch * 1e9 / step_ns,
        "user_tokens_s": None,
        "tokens_s": None,
        "least_ns": least_fs / FS_PER_NS,
        "least_flops": flops,
        "least_bytes": moved,
        "share_of_least": least_fs / total_fs,
        "kinds": sum_kinds(rows, peak),
        "operators": rows,
        "not_modelled": [*graph.not_modelled, *NOT_MODELLED, *inexact],
    }


def sum_kinds(rows: Sequence[Mapping[str, Any]], peak: Peak) -> list[dict[str, Any]]:
    """The time of each kind of operator, the longest first, and its share of the peak that bounds it."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        one = found.setdefault(row["section"], {"kind": row["section"], "count": 0, "ns": 0.0, "flops": 0, "bytes": 0})
        one["count"] += row["times"]
        for key in ("ns", "flops", "bytes"):
            one[key] += row["times"] * row[key]
    for one in found.values():
        one["bound"], one["share_of_peak"] = find_bound(one["flops"], one["bytes"], one["ns"] * FS_PER_NS, peak)
    return sorted(found.values(), key=lambda one: -one["ns"])


def _tell_unit(graph: Graph, unit: Unit, times: int, span_fs: tuple[int, int], peak: Peak) -> dict[str, Any]:
    start_fs, end_fs = span_fs
    operator = unit.operator
    moved = graph.least_bytes(operator)
    bound, share = find_bound(operator.flops, moved, end_fs - start_fs, peak)
    return {
        "section": operator.kind,
        "operator": operator.label,
        "nodes": list(operator.nodes),
        "times": times,
        "start_fs": start_fs,
        "end_fs": end_fs,
        "ns": (end_fs - start_fs) / FS_PER_NS,
        "flops": operator.flops,
        "bytes": moved,
        "bound": bound,
        "share_of_peak": share,
    }


def _ends(graph: Graph) -> int:
    """Bytes of what goes in and comes out."""
    ends = [*graph.inputs.values(), *graph.outputs.values()]
    return sum(graph.values[view.base].nbytes for view in ends)
