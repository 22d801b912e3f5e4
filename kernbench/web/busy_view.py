"""How busy the parts of a run's machine were over time, from the tables that the run left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.arrays import make_sparse
from kernbench.oplog.bins import Bins, fit, rounded
from kernbench.trace.use import Held, Moved, set_beside, spread_held, spread_moved, spread_waiting

if TYPE_CHECKING:
    import polars

BINS = 256  # at most


def list_bins(end_fs: int) -> Bins:
    """The bins of a run that ended at a time."""
    return Bins.over(0, max(end_fs, 1), BINS)


def make_busy(
    log: polars.DataFrame,
    held: polars.DataFrame,
    parts: polars.DataFrame,
    transfers: polars.DataFrame,
    services: polars.DataFrame,
    bins: Bins,
) -> polars.DataFrame:
    """Rows of `part` and `window` in which something was there: utilisation, queued, bytes, energy in aJ.

    `log` needs issue_fs, start_fs, end_fs and bytes; the others are tables of `runs.view_tables`. Errors: IndexError,
    ValueError or an error of polars for tables that do not belong together.
    """
    import polars

    jobs, moved = _read_held(log, held), _read_moved(transfers)
    kind, part = (services[name].to_numpy() for name in ("kind", "part"))
    shape = 1 + int(max(kind.max(initial=0), moved.kind.max(initial=0))), len(parts)
    served_fs, passed, paid = (
        make_sparse(kind, part, column.to_numpy(), shape)
        for column in (services["served_fs"], services["bytes"], _energy_of(services))
    )
    used = np.unique(np.concatenate([part, jobs.server]))
    counted = make_sparse(used, np.arange(len(used)), np.ones(len(used)), (len(parts), len(used)))
    sums = set_beside(set_beside(served_fs @ counted, passed @ counted), paid @ counted)
    busy_fs, nbytes, energy = np.split(spread_moved(bins, moved, sums), 3, axis=1)
    room_fs = bins.length_fs[:, None] * parts["slots"].to_numpy()[used].astype(float)
    share = rounded(fit(busy_fs + spread_held(bins, jobs, counted), room_fs) / room_fs)
    queued = rounded(spread_waiting(bins, jobs, counted))
    nbytes = np.rint(nbytes + _spread_held(bins, log, held, log["bytes"], counted))
    energy = rounded(energy + _spread_held(bins, log, held, _energy_of(held), counted))
    window, column = np.nonzero((share > 0) | (queued > 0) | (nbytes > 0) | (energy > 0))
    here = window, column
    return polars.DataFrame(
        {
            "part": used[column].astype(np.int32),
            "window": window.astype(np.int32),
            "utilisation": share[here].astype(np.float32),
            "queued": queued[here].astype(np.float32),
            "bytes": nbytes[here].astype(np.float32),
            "energy": energy[here].astype(np.float32),
        }
    )


def _read_held(log: polars.DataFrame, held: polars.DataFrame) -> Held:
    """The rows of the op log that held a server."""
    server = held["part"].to_numpy().astype(np.int64)
    holds = server >= 0
    return Held(server[holds], *(log[name].to_numpy()[holds] for name in ("issue_fs", "start_fs", "end_fs")))


def _read_moved(transfers: polars.DataFrame) -> Moved:
    """The transfers, each once: data to many are on the way until they are at the last."""
    import polars

    whole = transfers.group_by("row", maintain_order=True).agg(
        polars.col("kind", "leave_fs").first(), polars.col("arrive_fs").max()
    )
    return Moved(whole["kind"].to_numpy().astype(np.int64), whole["leave_fs"].to_numpy(), whole["arrive_fs"].to_numpy())


def _energy_of(table: polars.DataFrame) -> polars.Series:
    """The energies of a table, in attojoules; 0 in runs of earlier versions."""
    import polars

    return table["energy_aj"] if "energy_aj" in table.columns else polars.zeros(len(table), eager=True)


def _spread_held(
    bins: Bins, log: polars.DataFrame, held: polars.DataFrame, amounts: polars.Series, counted: Any
) -> np.ndarray:
    """float64[window, counter]: amounts of rows that hold a server, such as bytes of a transfer, over the time of the row."""
    server, amount = held["part"].to_numpy().astype(np.int64), amounts.to_numpy()
    moves = (server >= 0) & (amount > 0)
    start_fs, end_fs = (log[name].to_numpy()[moves] for name in ("start_fs", "end_fs"))
    return bins.spread(start_fs, end_fs, amount[moves].astype(float), server[moves], counted)
