"""The row of a point: its results, or the error sentence.

A row is kept under its point's key and does not repeat the point's parameters, so all rows ever made in a directory
have one shape, whatever grids they came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]

OK, ERROR, LOST = "ok", "error", "lost"

# The result columns in the table's order, with their types and what they hold.
COLUMNS: dict[str, type] = {
    "latency_ns": float,  # first launch leaves the host → last completion is back; of traffic the mean of the packets
    "pe_exec_ns": float,  # launch barrier → last PE has finished
    "lower_ns": float,  # bounds of the latency, where there were no events
    "upper_ns": float,
    "step_ns": float,  # of a network: a step of all layers
    "tokens_s": float,  # of all sequences
    "user_tokens_s": float,  # of one sequence
    "sequences_s": float,  # steps of all sequences: sentences or images of an encoder, prompts of prefill
    "bottleneck": str,  # the kind of part that is busiest
    "bottleneck_part": str,  # the busiest of that kind
    "bottleneck_utilisation": float,  # 0 … 1
    "collective_algorithm": str,  # of each collective, in their order; null without collectives
    "achieved_tflops": float,
    "achieved_gbs": float,
    "tflops_of_peak": float,  # 0 … 1, of the GEMM engines of the PEs used
    "gbs_of_peak": float,  # 0 … 1, of the HBM slices of the PEs used
    "accepted": float,  # 0 … 1, flits delivered during the window, as a fraction of what the senders can inject
    "saturation_load": float,  # null if it was not asked for, or not reached
    "packets": int,  # that are measured: begun in the window
    "alone_ns": float,  # their mean zero-load latency
    "p50_ns": float,
    "p99_ns": float,
    "max_ns": float,
    "makespan_ns": float,
    "tokens_per_joule": float,  # of a network
    "energy_j": float,  # of the run; null where a figure is missing, and of bounds
    "dynamic_j": float,
    "static_j": float,
    "power_w": float,  # mean over the makespan
    "no_figures": str,  # the fields of sheets that lack a figure for what was done; null if none does
    "area_mm2": float,  # of all dies of the machine
    "cost_usd": float,
    "events": int,
    "flit_hops": int,
    "wall_s": float,
    "fidelity": str,  # the mode in which the row was made; a latency of mode analytic is its lower bound
    "program_digest": str,  # of the device program: equal for points that differ in the machine's figures alone
    "bench_digest": str,  # of the bench's file
    "topology_digest": str,  # of the topology with its model sheets, before the point's own fields
    "kernbench": str,  # its version, and the digest of the sources that figures depend on
    "status": str,  # OK, ERROR (the run failed, and would again), LOST (its worker process died)
    "error": str,
    "key": str,
}

OF_ENERGY = ("energy_j", "dynamic_j", "static_j", "power_w")
NEED_ENERGY = (*OF_ENERGY, "tokens_per_joule")
OF_MACHINE = ("area_mm2", "cost_usd")
OF_TRAFFIC = ("accepted", "saturation_load", "packets", "alone_ns", "p50_ns", "p99_ns", "max_ns", "makespan_ns")
OF_BOTH = (
    *OF_ENERGY,
    *OF_MACHINE,
    "no_figures",
    "latency_ns",
    "flit_hops",
    "wall_s",
    "fidelity",
    "topology_digest",
    "kernbench",
    "status",
    "error",
    "key",
)
TRAFFIC_COLUMNS = tuple(name for name in COLUMNS if name in (*OF_TRAFFIC, *OF_BOTH))
BENCH_COLUMNS = tuple(name for name in COLUMNS if name not in OF_TRAFFIC)

FEASIBLE = "feasible"  # the column that says whether a point keeps the conditions on its results
VERSUS = "_vs_baseline"  # after an objective's name: its share of the baseline's
BOUND = (
    "_bound"  # after a derived column's name: how the figure of a bounded row is to be read, LOWER or UPPER; else null
)
LOWER, UPPER = "lower", "upper"
STAMP = ("bench_digest", "topology_digest", "kernbench")  # the same for all points of a sweep
FIGURES = tuple(name for name in COLUMNS if name not in ("status", "error", "key", *STAMP))


def fits_column(value: object) -> bool:
    """Whether a column of a table can hold a value: integers have 64 bits."""
    return not isinstance(value, int) or -(1 << 63) <= value < 1 << 63


def ok_row(result: object) -> dict[str, Any]:
    """The row of a finished run (RunResult, PatternResult), but for its mode, key and stamp; what was not found out is null."""
    return {**{name: getattr(result, name, None) for name in FIGURES}, "status": OK, "error": None}


def failed_row(status: str, sentence: str, wall_s: float | None = None) -> dict[str, Any]:
    """The row of a run without a result, but for its key and stamp."""
    return {**dict.fromkeys(COLUMNS), "wall_s": wall_s, "status": status, "error": sentence}
