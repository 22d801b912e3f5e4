"""The GEMM evaluation: how near to its peak does the matrix engine come, by shape and by how operands are staged?

Eight shapes: cubes, deep and shallow products, one row of tiles. Three stagings of `matmul-composite`: both operands streamed
(`ref_ref`), A loaded first (`load_ref`), both loaded first (`load_load`). On one PE, unless more are asked for: there shapes
compare with each other, while spread over a machine each PE of a small one has a single tile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.dtypes import bits
from kernbench.evaluation.measure import OnRow, measure
from kernbench.evaluation.stages import STAGES, harvest_stages
from kernbench.machine.costs import tile_tflops

if TYPE_CHECKING:
    import polars

    from kernbench.runs.result import RunResult

BENCH = "matmul-composite"
SHAPES = (
    (32, 128, 32),
    (32, 512, 32),
    (32, 3072, 32),
    (32, 512, 512),
    (512, 64, 512),
    (128, 128, 128),
    (256, 256, 256),
    (512, 512, 512),
)  # M, K, N
VARIANTS = ("ref_ref", "load_ref", "load_load")

# The columns of the table, with their types.
COLUMNS: dict[str, type] = {
    "topology": str,
    "M": int,
    "K": int,
    "N": int,
    "variant": str,
    "dtype": str,
    "pes": int,  # that multiplied
    "latency_ns": float,
    "pe_exec_ns": float,
    "achieved_tflops": float,
    "peak_tflops": float,  # of those PEs' matrix engines
    "efficiency": float,  # achieved over peak
    "bottleneck": str,
    "verified": bool,  # null when not asked
    **{f"{stage}_count": int for stage in STAGES},
    **{f"{stage}_busy_ns": float for stage in STAGES},
    "dma_read_bytes": int,
    "dma_write_bytes": int,
}

POINT = ("topology", "M", "K", "N", "variant", "dtype")  # the columns that say which run a row is of


def evaluate_gemm(
    topology: str | Path = "sip_2x4x4",
    *,
    shapes: Sequence[tuple[int, int, int]] | None = None,
    variants: Sequence[str] | None = None,
    dtype: str = "f16",
    sips: int = 1,
    cubes: int = 1,
    pes: int = 1,
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    verify: bool = False,
    on_row: OnRow = lambda _row: None,
) -> polars.DataFrame:
    """Run all shapes in all variants; a row each, with the columns of `COLUMNS`. Times are simulated ns.

    `shapes` are M, K and N each, by default `SHAPES`, and `variants` some of `VARIANTS`, by default all.
    At most `sips` SIPs, `cubes` of each and `pes` of each cube take part, 0 for all. `overrides` are fields of the topology.
    `on_row` is called with each row.
    Errors: InputError for what the machine cannot do; RunError when a check of the numbers fails.
    """
    import polars

    shared = {"dtype": dtype, "sips": sips, "cubes": cubes, "pes": pes}
    rows: list[dict[str, Any]] = []
    for m, k, n in SHAPES if shapes is None else shapes:
        for variant in VARIANTS if variants is None else variants:
            parameters = {"M": m, "K": k, "N": n, "variant": variant, **shared}
            result = measure(BENCH, topology, parameters, overrides, mode, verify)
            rows.append(_row(result, parameters))
            on_row(rows[-1])
    return polars.DataFrame(rows, schema=COLUMNS)


def _row(result: RunResult, parameters: Mapping[str, Any]) -> dict[str, Any]:
    stages = harvest_stages(result.op_log())
    peak = tile_tflops(result.device.machine, bits(parameters["dtype"])) * stages["pes"]
    figures = {name: getattr(result, name) for name in ("topology", "latency_ns", "pe_exec_ns", "achieved_tflops")}
    return {
        **{name: parameters[name] for name in ("M", "K", "N", "variant", "dtype")},
        **figures,
        **stages,
        "peak_tflops": peak,
        "efficiency": figures["achieved_tflops"] / peak,
        "bottleneck": result.bottleneck,
        "verified": result.verified,
    }
