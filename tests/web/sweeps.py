"""Directories of sweeps, without runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars

from tests.report.sample_tables import table

HOSTILE = "<script>alert(1)</script>"


def write_sweep(
    directory: Path, rows: polars.DataFrame | None = None, name: str = "table.parquet", **told: Any
) -> Path:
    """A directory with a table of 12 points, or of these rows, and a manifest; returns it."""
    directory.mkdir(parents=True, exist_ok=True)
    rows = small_table() if rows is None else rows
    if len(rows):
        rows.write_parquet(directory / name)
    manifest: Mapping[str, Any] = {"points": len(rows), "bench": "gemm", "topology": "tiny", "mode": "hybrid", **told}
    (directory / "sweep.json").write_text(json.dumps(manifest), encoding="utf-8")
    return directory


def small_table() -> polars.DataFrame:
    """12 points over M, a link rate and a variant of which one name is markup; M=1 failed at the least rate."""
    axes = {"M": [1, 2, 4], "topology__noc__gbs": [64, 128], "variant": ["plain", HOSTILE]}
    rows = table(_latency, **axes)
    digests = [hashlib.sha256(key.encode()).hexdigest() for key in rows["key"]]
    return rows.with_columns(polars.Series("key", digests))


def _latency(m: int, gbs: int, variant: str) -> float | None:
    return None if (m, gbs) == (1, 64) else 1000.0 * m + 64000 / gbs + len(variant)
