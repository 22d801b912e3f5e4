"""Tables of sweeps, without runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import polars

from kernbench.sweep.row import COLUMNS, failed_row


def table(latency: Callable[..., float | None], **axes: Sequence[Any]) -> polars.DataFrame:
    """A table over the product of axes; "__" in a name stands for a dot. A latency of None is a failed point."""
    rows = []
    for values in itertools.product(*axes.values()):
        nanoseconds = latency(*values)
        figures = failed_row("error", "no") if nanoseconds is None else _figures(nanoseconds)
        parameters = {name.replace("__", "."): value for name, value in zip(axes, values, strict=True)}
        rows.append({**parameters, "dtype": "f16", **figures, "key": str(values)})
    return polars.DataFrame(rows, schema_overrides=dict(COLUMNS))


def _figures(nanoseconds: float) -> dict[str, Any]:
    return {
        **failed_row("ok", ""),
        "error": None,
        "latency_ns": nanoseconds,
        "bottleneck": "sip0.cube0.hbm_ctrl.pe0",
        "bottleneck_utilisation": 0.8,
        "achieved_tflops": 1000 / nanoseconds,
        "achieved_gbs": 2.0,
    }
