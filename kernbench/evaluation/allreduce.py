"""The all-reduce evaluation: latency against bytes, by the memory of the slots, by how SIPs are joined, by root and algorithm.

Every point is a run of the bench `ccl-allreduce`, which goes through the public distributed path. Each kind of slots on each
SIP topology; beside it the corner instead of the centre as root, and the other algorithms on a ring, with slots in TCM. All of
these have slots of one size, so that only what is asked about differs. The algorithm `auto` has slots of the size that follows
from the machine, and runs on each SIP topology.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.ccl import find_grid
from kernbench.ccl.choice import AUTO
from kernbench.evaluation.measure import OnRow, measure

if TYPE_CHECKING:
    import polars

    from kernbench.runs.result import RunResult

BENCH = "ccl-allreduce"
SIZES = (256, 1024, 4096, 16384, 98304, 1048576)  # bytes of a PE
TOPOLOGIES = ("ring_1d", "torus_2d", "mesh_2d_no_wrap")
KINDS = ("tcm", "sram", "hbm")
DEFAULT = "lrab_hierarchical_allreduce"
OTHERS = ("ring", "ring_2d", "rhd", "tree")
SLOT_BYTES = 4096  # of the algorithms that are named, as the documents have it
HOPS_DECIDE = (
    16384  # bytes up to which the centre, which has fewer hops, beats the corner, whose root has a smaller fan
)
WITHIN = 1.05  # of the quickest algorithm that is named, which `auto` may take

# The columns of the table, with their types.
COLUMNS: dict[str, type] = {
    "topology": str,
    "n_sips": int,
    "sip_topology": str,
    "algorithm": str,  # as asked for
    "module": str,  # that ran
    "root": str,
    "buffer_kind": str,
    "slot_bytes": int,
    "piece_bytes": int,
    "participants": int,
    "bytes_per_pe": int,
    "dtype": str,
    "latency_ns": float,  # of the collective, first PE's start to last PE's end
    "algbw_gbs": float,  # bytes of a PE over latency
    "busbw_gbs": float,  # times 2 (P - 1) / P
    "task_bound_ns": float,  # what no algorithm can take less than
    "times_task_bound": float,
    "bound_ns": float,  # what the algorithm cannot take less than; null where it states nothing
    "times_bound": float,
    "verified": bool,  # null when not asked
}

POINT = (
    "topology",
    "n_sips",
    "sip_topology",
    "algorithm",
    "root",
    "buffer_kind",
    "bytes_per_pe",
    "dtype",
)  # the columns that say which run a row is of


def evaluate_allreduce(
    topology: str | Path = "sip_2x4x4",
    *,
    bytes_per_pe: Sequence[int] | None = None,
    n_sips: int = 6,
    sips_w: int = 0,
    sips_h: int = 0,
    cubes: int = 0,
    n_slots: int = 0,
    slot_size: int = SLOT_BYTES,
    dtype: str = "f16",
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    verify: bool = False,
    on_row: OnRow = lambda _row: None,
) -> polars.DataFrame:
    """Run all points; a row each, with the columns of `COLUMNS`. The settings are those of the bench.

    `bytes_per_pe` are the sizes, by default `SIZES`.
    `slot_size` is for all algorithms but `auto`. `sips_w` and `sips_h` are for the two-dimensional topologies. `on_row` is
    called with each row.
    Errors: InputError for what the machine cannot do; RunError when a check of the numbers fails.
    """
    import polars

    for sip_topology in TOPOLOGIES[1:] if n_sips else ():
        find_grid(n_sips, sip_topology, sips_w, sips_h)  # an impossible grid is refused before anything runs
    shared = {"n_sips": n_sips, "cubes": cubes, "n_slots": n_slots, "slot_size": slot_size, "dtype": dtype}
    rows: list[dict[str, Any]] = []
    for case in list_cases(SIZES if bytes_per_pe is None else bytes_per_pe):
        grid = {} if case["sip_topology"] == "ring_1d" else {"sips_w": sips_w, "sips_h": sips_h}
        sized = {"slot_size": 0} if case["algorithm"] == AUTO else {}
        parameters = {**shared, **grid, **case, **sized}
        rows.append(_row(measure(BENCH, topology, parameters, overrides, mode, verify), parameters))
        on_row(rows[-1])
    return polars.DataFrame(rows, schema=COLUMNS)


def list_cases(sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """What differs between the points, as parameters of the bench; `sizes` are bytes of a PE."""
    for sip_topology in TOPOLOGIES:
        for kind, root in (*((kind, "centre") for kind in KINDS), (KINDS[0], "corner")):
            for size in sizes:
                yield _case(sip_topology, kind, root, DEFAULT, size)
    for algorithm in OTHERS:
        for size in sizes:
            yield _case(TOPOLOGIES[0], KINDS[0], "centre", algorithm, size)
    for sip_topology in TOPOLOGIES:
        for size in sizes:
            yield _case(sip_topology, KINDS[0], "centre", AUTO, size)


def _case(sip_topology: str, kind: str, root: str, algorithm: str, size: int) -> dict[str, Any]:
    return {
        "sip_topology": sip_topology,
        "buffer_kind": kind,
        "root": root,
        "algorithm": algorithm,
        "bytes_per_pe": size,
    }


def _row(result: RunResult, parameters: Mapping[str, Any]) -> dict[str, Any]:
    found = result.collectives[0]
    asked = ("n_sips", "sip_topology", "algorithm", "root", "buffer_kind", "dtype", "bytes_per_pe")
    measured = COLUMNS.keys() & found.keys() - {*asked, "topology"}
    return {
        "topology": result.topology,
        **{name: parameters[name] for name in asked},
        **{name: found[name] for name in measured},
        "module": found["algorithm"],
        "verified": result.verified,
    }


def find_violations(table: polars.DataFrame) -> list[str]:
    """What must hold in every table and does not.

    Slots in TCM are the fastest, the centre beats the corner where hops decide, `auto` is about as fast as the quickest, and
    bounds hold.
    """
    found: list[str] = []
    times = {
        (row["sip_topology"], row["algorithm"], row["buffer_kind"], row["root"], row["bytes_per_pe"]): row["latency_ns"]
        for row in table.to_dicts()
    }
    for (sips, algorithm, kind, root, size), latency_ns in times.items():
        where = f"{algorithm} on {sips} at {size} bytes"
        fastest = times[sips, algorithm, "tcm", root, size]
        if latency_ns < fastest:
            found.append(f"{where}: slots in {kind} take {latency_ns:,.1f} ns, in tcm {fastest:,.1f} ns")
        centre = times[sips, algorithm, kind, "centre", size]
        if root == "corner" and size <= HOPS_DECIDE and latency_ns < centre:
            found.append(f"{where}: a root in the corner takes {latency_ns:,.1f} ns, in the centre {centre:,.1f} ns")
    for (sips, algorithm, _, _, size), latency_ns in times.items():
        quickest = min(
            (time, other)
            for (here, other, kind, root, bytes_), time in times.items()
            if (here, kind, root, bytes_) == (sips, "tcm", "centre", size)
        )
        if algorithm == AUTO and latency_ns > WITHIN * quickest[0]:
            found.append(
                f"auto on {sips} at {size} bytes takes {latency_ns:,.1f} ns, {quickest[1]} {quickest[0]:,.1f} ns"
            )
    return found + [
        f"{row['algorithm']} on {row['sip_topology']} at {row['bytes_per_pe']} bytes takes {row['latency_ns']:,.1f} ns, "
        f"less than {whose} bound of {row[bound]:,.1f} ns"
        for row in table.to_dicts()
        for whose, bound in (("its", "bound_ns"), ("the task's", "task_bound_ns"))
        if row[bound] is not None and row["latency_ns"] < row[bound]
    ]
