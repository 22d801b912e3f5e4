"""Progress of a run: what it is doing, and how far the simulation has come.

That is how many times a flit has been served at a station, of how many times that will be in all. The share of the two is close
to the share of the time that the loop takes, in both modes.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.program.encoded_rows import EncodedRows
from kernbench.program.ops import Op

if TYPE_CHECKING:
    from kernbench.engine.memory import Memory
    from kernbench.limits.run_options import OnProgress
    from kernbench.program.program import Program


class Speculation(NamedTuple):
    """Counts, in the words of docs/engine.md."""

    passes: int  # over the network
    rebounds: int  # transfers that had not landed by their bound and got a later one
    looked_ahead: int  # flits served that arrived at or after the horizon of their pass; 0 in runs that are not checked
    closed: int  # transfers done in closed form
    reopened: int  # of these, those that another transfer turned into flits
    reserved: int  # reservations taken
    revoked: int
    batched: int  # transfers done in a batch behind another
    split: int  # of these, those taken back
    chained: int  # tokens that entered a server chain
    broken: int  # chains broken
    requeued: int  # tokens that a broken chain returned to their servers

    @classmethod
    def of(cls, memory: Memory) -> Speculation:
        """Those of the run in a memory."""
        return cls(*(memory[field] for field in cls._fields))


_EVERY_S = 0.25


class ProgressReporter:
    """Reports the progress of the runs of a program, four times a second at most."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._rows, self._known = 0, 0
        self._reported = perf_counter()

    @property
    def is_due(self) -> bool:
        """Whether the last report is long ago."""
        return perf_counter() - self._reported >= _EVERY_S

    def report(self, on_progress: OnProgress, station_flits: np.ndarray, now_fs: int) -> None:
        """Call back with what has been served, int64[station], what is known, and the simulated time."""
        on_progress(int(station_flits.sum()), self._count_services(), now_fs)
        self._reported = perf_counter()

    def _count_services(self) -> int:
        """The number of services of flits at stations by the rows known so far."""
        program = self._program
        moves = np.flatnonzero(program.op.values[:, 0] == Op.MOVE)
        new = EncodedRows(program.op.values, program.op.entry[self._rows :])
        count, (route, nbytes) = new.counts()[moves], new.values[moves, 1:3].T
        routes = program.machine.routing.tables()
        steps = routes.end[route] - routes.start[route]
        self._known += int((-(-nbytes // program.machine.flit_bytes) * steps * count).sum())
        self._rows = program.row_count
        return self._known
