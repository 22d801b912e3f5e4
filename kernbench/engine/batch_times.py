"""The times of many machines of one structure, for one program: written by `Batch` into the memory of each run.

A time that varies is a column of values, one a machine; stations, steps of routes and durations say which column is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.variant import MOST_FS
from kernbench.program.ops import NONE
from kernbench.program.program import unrounded_fs

if TYPE_CHECKING:
    from kernbench.machine.sheets.field_provenance import Origins
    from kernbench.program.program import Program


class BatchTimes(NamedTuple):
    """Times (fs) by column, and the columns of what varies; NONE is what is as the program's machine has it."""

    values: np.ndarray  # int64[point, column]
    full: np.ndarray  # int64[station] column of the service of a full flit
    turn: np.ndarray  # int64[station]
    overhead: np.ndarray  # int64[step] of all routes
    duration: np.ndarray  # int64[duration]

    def of(self, points: slice) -> BatchTimes:
        """Those of some points."""
        return self._replace(values=self.values[points])

    def fs_per_flit(self, fixed: np.ndarray, stations: np.ndarray | slice = slice(None)) -> np.ndarray:
        """int64[point, station] the service of a full flit at some stations, of all int64[station] where it is fixed."""
        column = self.full[stations]
        return np.where(column == NONE, fixed[stations], self.values[:, column])


def batch_times(program: Program, origins: Origins, figures: Mapping[str, np.ndarray]) -> BatchTimes:
    """The times of a program's machine where fields of its topology have other values: float64[point] of each.

    `origins` are those of the machine. Errors: OverflowError for a value that leads to a time beyond the clock.
    """
    machine = program.machine
    columns = [np.zeros(len(next(iter(figures.values()))))]
    of = np.full(len(origins.known) + 1, NONE)  # by origin; the last, which NONE reads, does not vary
    varied = {name: origin for name, origin in origins.figures.items() if origin.field in figures}
    duration = np.full(len(program.durations), NONE)
    with np.errstate(over="ignore", invalid="ignore"):
        for at, origin in enumerate(origins.known):
            if origin.field in figures:
                of[at] = len(columns)
                columns.append(origin.fs(figures[origin.field], 1 if origin.factor is None else machine.flit_bytes))
        rates = {**machine.figures, **{name: origin.fs(figures[origin.field]) for name, origin in varied.items()}}
        for at, terms in enumerate(program.durations):
            if any(name in varied for name, _ in terms):
                duration[at] = len(columns)
                columns.append(unrounded_fs(terms, rates))
        fs = np.rint(np.stack(columns, axis=1))
    if not (fs <= MOST_FS).all():
        raise OverflowError(f"a time is more than {MOST_FS} fs")
    charged = machine.routing.overhead_stations()
    overhead = np.where(charged == NONE, NONE, of[origins.overhead[charged]])
    return BatchTimes(fs.astype(np.int64), of[origins.service], of[origins.turn], overhead, duration)
