"""The attention evaluation: what do more users, longer prompts and grouped queries cost, in prefill and in decode?

`attention-prefill` and `attention-decode` for one user and for several, at two lengths, with a head of keys for each head of
queries and with one for a group of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, suggest
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
POINT = (
    "topology",
    "phase",
    "users",
    "length",
    "heads",
    "kv_heads",
    "head_dim",
    "dtype",
)  # the columns that say which run a row is of
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
    phases: Sequence[str] | None = None,
    users: Sequence[int] | None = None,
    tokens: Sequence[int] | None = None,
    context: Sequence[int] | None = None,
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

    `phases` are "prefill" and "decode" or one of them, `users` their users, `tokens` the lengths of prompts in prefill,
    `context` those of contexts in decode; by default those of `PHASES`.
    `overrides` are fields of the topology. `on_row` is called with each row.
    Errors: InputError for sizes that cannot be; RunError when a check of the numbers fails.
    """
    import polars

    for phase in phases or ():
        if phase not in PHASES:
            raise InputError(f"attention has no phase {phase!r}{suggest(phase, PHASES)}")
    shared = {"heads": heads, "head_dim": head_dim, "dtype": dtype}
    rows: list[dict[str, Any]] = []
    lengths = {"tokens": tokens, "context": context}
    chosen = {
        phase: (users or default_users, lengths[parameter] or default_lengths)
        for phase, (parameter, default_users, default_lengths) in PHASES.items()
        if phases is None or phase in phases
    }
    for phase, count, length, groups in _points(chosen, dict.fromkeys((kv_heads, heads))):
        parameters = {"users": count, PHASES[phase][0]: length, "kv_heads": groups, **shared}
        result = measure(f"attention-{phase}", topology, parameters, overrides, mode, verify)
        figures = {name: getattr(result, name) for name in FIGURES}
        made = count * (length if phase == "prefill" else 1)
        row = {"phase": phase, "users": count, "length": length, "kv_heads": groups, **shared, **figures}
        rows.append({**row, "tokens_per_us": 1000 * made / figures["latency_ns"]})
        on_row(rows[-1])
    return polars.DataFrame(rows, schema=COLUMNS)


def _points(
    chosen: Mapping[str, tuple[Sequence[int], Sequence[int]]], kv_heads: Mapping[int, object]
) -> Iterator[tuple[str, int, int, int]]:
    """Phase, users, length and heads of keys of each run; `chosen` has users and lengths by phase."""
    for phase, (users, lengths) in chosen.items():
        for length, groups, count in product(lengths, kv_heads, users):
            yield phase, count, length, groups
