"""Rows of an op log that no device program has, such as what the threads of a modelled runtime did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.runs.file_names import HELD, OP_LOG, PATH, TRANSFERS

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, slots=True)
class OtherRows:
    """Rows beside those of a device program.

    `log` is as of `kernbench.oplog.log`; its `dependencies` are rows of its own. `server`: int64[row] the server of the machine
    that each row held from start to end, NONE for none.
    """

    log: polars.DataFrame
    server: np.ndarray

    def add_to(self, tables: dict[str, polars.DataFrame]) -> dict[str, polars.DataFrame]:
        """The tables of a run by file, with these rows among those of its op log by start and end.

        In the critical path the rows of these tables follow those of the op log.
        """
        import polars

        log = tables[OP_LOG]
        own = self.log.with_columns(polars.col("dependencies").list.eval(polars.element() + len(log)))
        both = polars.concat([log, own.select(log.columns)])
        order = both.select(polars.arg_sort_by("start_fs", "end_fs", maintain_order=True)).to_series().to_numpy()
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        held = np.concatenate([tables[HELD]["part"].to_numpy(), self.server])
        return {
            **tables,
            OP_LOG: _with_rows_at(both[order], "dependencies", place),
            PATH: tables[PATH].with_columns(_move(tables[PATH]["row"], place)),
            HELD: polars.DataFrame({"part": held[order].astype(np.int32)}),
            TRANSFERS: tables[TRANSFERS].with_columns(_move(tables[TRANSFERS]["row"], place)),
        }


def _move(row: polars.Series, place: np.ndarray) -> polars.Series:
    """A column of rows, or of null, where the rows now are: int64[row]."""
    import polars

    return polars.Series(place).gather(row).cast(row.dtype).alias(row.name)


def _with_rows_at(table: polars.DataFrame, name: str, place: np.ndarray) -> polars.DataFrame:
    """A table whose column of lists of rows says where the rows now are: int64[row]."""
    import polars

    flat = table.select(name).with_row_index("at").explode(name).drop_nulls()
    moved = flat.with_columns(_move(flat[name], place)).group_by("at", maintain_order=True).agg(name)
    lists = table.drop(name).with_row_index("at").join(moved, on="at", how="left", maintain_order="left")
    return lists.with_columns(polars.col(name).fill_null([])).select(table.columns)
