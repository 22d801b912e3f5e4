"""The rows of an op log as typed records of seven fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError
from kernbench.sealing import read_sealed_parquet

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class OpRecord:
    """One operation.

    - `start_fs`, `end_fs`: femtoseconds from the start of the run.
    - `component`, `op_name`: where it ran, and its name.
    - `op_kind`: "memory", "gemm", "math", "control" for commands, or "composite" for one in flight, whose work is its stages.
    - `params`: see `oplog.params` and `oplog.tiles`; empty for commands.
    - `dependencies`: places in the log.
    """

    start_fs: int
    end_fs: int
    component: str
    op_kind: str
    op_name: str
    params: Mapping[str, Any]
    dependencies: tuple[int, ...]


FIELDS = tuple(OpRecord.__annotations__)


def read_records(log: pl.DataFrame | str | Path) -> list[OpRecord]:
    """The records of an op log, or of its parquet file, in its order. Errors: InputError for any other table."""
    import polars as pl

    try:
        table = log if isinstance(log, pl.DataFrame) else read_sealed_parquet(Path(log))
        rows = table.select(FIELDS).rows()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"no op log can be read from {_name(log)}: {error}") from error
    return [
        OpRecord(start, end, component, kind, name, json.loads(params or "{}"), tuple(after))
        for start, end, component, kind, name, params, after in rows
    ]


def _name(log: pl.DataFrame | str | Path) -> str:
    return str(log) if isinstance(log, (str, Path)) else "this table"
