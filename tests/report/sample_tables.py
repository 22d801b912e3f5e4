"""Tables of sweeps, without runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import polars

from kernbench.sweep.row import BENCH_COLUMNS, COLUMNS, TRAFFIC_COLUMNS, failed_row


def table(latency: Callable[..., float | None], **axes: Sequence[Any]) -> polars.DataFrame:
    """A table over the product of axes; "__" in a name stands for a dot. A latency of None is a failed point."""
    return _make(latency, _bench_figures, {"dtype": "f16"}, BENCH_COLUMNS, axes)


def traffic_table(accepted: Callable[..., float | None], **axes: Sequence[Any]) -> polars.DataFrame:
    """As `table`, of traffic with an accepted load; the latency is 100 ns times that."""
    return _make(accepted, _traffic_figures, {"pattern": "uniform"}, TRAFFIC_COLUMNS, axes)


def _make(
    result: Callable[..., float | None],
    figures: Callable[[float], dict[str, Any]],
    rest: dict[str, Any],
    columns: Sequence[str],
    axes: dict[str, Sequence[Any]],
) -> polars.DataFrame:
    rows = []
    for values in itertools.product(*axes.values()):
        found = result(*values)
        made = failed_row("error", "no") if found is None else {**failed_row("ok", ""), "error": None, **figures(found)}
        parameters = {name.replace("__", "."): value for name, value in zip(axes, values, strict=True)}
        rows.append({**parameters, **rest, **made, "key": str(values)})
    made = polars.DataFrame(rows, schema_overrides=dict(COLUMNS))
    return made.select(*(name for name in made.columns if name not in COLUMNS), *columns)


def _traffic_figures(accepted: float) -> dict[str, Any]:
    return {"latency_ns": 100 * accepted, "accepted": accepted, "p99_ns": 200 * accepted}


def _bench_figures(nanoseconds: float) -> dict[str, Any]:
    return {
        "latency_ns": nanoseconds,
        "bottleneck": "sip0.cube0.hbm_ctrl.pe0",
        "bottleneck_utilisation": 0.8,
        "achieved_tflops": 1000 / nanoseconds,
        "achieved_gbs": 2.0,
    }
