"""The attention evaluation: what do more users, longer prompts and grouped queries cost, in prefill and in decode?

`attention-prefill` and `attention-decode` for one user and for several, at two lengths, with a head of keys for each head of
queries and with one for a group of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.evaluation.measure import OnRow, measure

if TYPE_CHECKING:
    import polars

# Phase, and the parameter that is its length: (name, users, lengths).
PHASES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    "prefill": ("tokens", (1, 2, 4), (128, 256)),
    "decode": ("context", (1, 4, 16), (256, 1024)),
}

# The columns of the table, with their types.
COLUMNS: dict[str, type] = {
    "topology": str,
    "phase": str,
    "users": int,
    "length": int,  # tokens of a prompt, or of the context
    "heads": int,
    "kv_heads": int,
    "head_dim": int,
    "dtype": str,
    "latency_ns": float,
    "pe_exec_ns": float,
    "tokens_per_us": float,  # that come out: of the prompts, or one a user
    "achieved_tflops": float,
    "achieved_gbs": float,
    "bottleneck": str,
    "bottleneck_utilisation": float,
    "verified": bool,  # null when not asked
}
FIGURES = (
    "topology",
    "latency_ns",
    "pe_exec_ns",
    "achieved_tflops",
    "achieved_gbs",
    "bottleneck",
    "bottleneck_utilisation",
    "verified",
)  # that a run has under the same names


def evaluate_attention(
    topology: str | Path = "sip_2x4x4",
    *,
    heads: int = 16,
    kv_heads: int = 4,
    head_dim: int = 64,
    dtype: str = "f16",
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    verify: bool = False,
    on_row: OnRow = lambda _row: None,
) -> polars.DataFrame:
    """Run both phases at all users and lengths, with `kv_heads` and with `heads` heads of keys; a row each (`COLUMNS`).

    `overrides` are fields of the topology. `on_row` is called with each row.
    Errors: InputError for sizes that cannot be; RunError when a check of the numbers fails.
    """
    import polars

    shared = {"heads": heads, "head_dim": head_dim, "dtype": dtype}
    rows: list[dict[str, Any]] = []
    for phase, users, length, groups in _points(dict.fromkeys((kv_heads, heads))):
        parameters = {"users": users, PHASES[phase][0]: length, "kv_heads": groups, **shared}
        result = measure(f"attention-{phase}", topology, parameters, overrides, mode, verify)
        figures = {name: getattr(result, name) for name in FIGURES}
        tokens = users * (length if phase == "prefill" else 1)
        row = {"phase": phase, "users": users, "length": length, "kv_heads": groups, **shared, **figures}
        rows.append({**row, "tokens_per_us": 1000 * tokens / figures["latency_ns"]})
        on_row(rows[-1])
    return polars.DataFrame(rows, schema=COLUMNS)


def _points(kv_heads: Mapping[int, object]) -> Iterator[tuple[str, int, int, int]]:
    for phase, (_, users, lengths) in PHASES.items():
        for length, groups, count in product(lengths, kv_heads, users):
            yield phase, count, length, groups
