"""The critical path of a run: the chain of waits and work that set its time, and the time of each piece by class of part.

The path starts at a row, such as the last to end, and goes from cause to cause (see `causes`) back to a start. Its pieces
follow each other without gaps. A piece of work belongs to the class of part that did it: "gemm", "math", "io_cpu". A transfer
is split by its uncontended latency (`machine.uncontended_latency`): the classes of links and memory channels that it passed,
the overheads of the parts between, the wires, and the work of the issuer before. The time beyond that is contention with other
transfers for links and memories; it is assigned to the class of the busiest station on the route. If stations of several
classes are equally slow or equally busy, the time is assigned to all of them together ("hbm_ctrl channels and noc links"): it
gets shorter only if all get faster. Queueing for an engine or a DMA channel is never on the path: there the row that was
served counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.network.uncontended_latency import AS_SLOW, find_uncontended_latency
from kernbench.oplog.causes import Causes, Times
from kernbench.oplog.utilisation import JOINED, list_parts
from kernbench.program.ops import NONE
from kernels_jit.layout import codes  # plain integers: reading an enum's member costs a lookup

if TYPE_CHECKING:
    from kernbench.program.program import Program

CONTENTION = "contention at "  # a class of stations
WIRES, OVERHEADS = "wires", "overheads on the way"
CLOCK, UNKNOWN = "waiting for a time", "unknown"


class Piece(NamedTuple):
    """A piece of the critical path: one row at work."""

    start_fs: int
    end_fs: int
    row: int
    part: str  # the part that did the work
    name: str  # of the operation
    spent_fs: dict[str, int]  # by class of part; sums to the length
    issued: int = NONE  # the row of a thread that issued it: itself, or of a stage the start of its plan


def find_critical_path(
    program: Program, times: Times, station_busy_fs: np.ndarray, row: int | None = None, since_fs: int = 0
) -> list[Piece]:
    """The critical path to the end of a row, by default the last of the run, since a time; in the order of time.

    `station_busy_fs`: int64[station] busy time of each in the run.
    """
    if not (times.end_fs >= 0).any():
        return []
    last = int(times.end_fs.argmax()) if row is None else row
    return list(PathFinder(program, times, station_busy_fs).walk(last, since_fs))[::-1]


class PathFinder:
    """Finds critical paths to rows of one run; what it looks up is indexed once."""

    def __init__(self, program: Program, times: Times, station_busy_fs: np.ndarray) -> None:
        self._program, self._times, self._op = program, times, program.op
        self._station_busy_fs = station_busy_fs
        self._causes, self._noted = Causes(program, times), program.causes
        self._duration_fs = program.duration_fs()
        parts = list_parts(program.machine)
        servers = len(program.machine.server_name)
        self._alone: dict[tuple[int, int], tuple[dict[str, int], str]] = {}  # by route, bytes
        self._server_kind, self._station_kind = parts.kind[:servers], parts.kind[servers:]

    def walk(self, row: int, since_fs: int) -> Iterator[Piece]:
        """Yield the pieces from the end to the start."""
        now_fs = int(self._times.end_fs[row])
        while row != NONE and now_fs > since_fs:
            for find in (self._piece, self._wait):
                piece = find(row, now_fs) if now_fs > since_fs else None
                if piece is not None and piece.end_fs > piece.start_fs:
                    yield piece if piece.start_fs >= since_fs else _cut(piece, since_fs)
                    now_fs = piece.start_fs
            row = self._cause(row)
        if now_fs > since_fs:
            yield Piece(since_fs, now_fs, NONE, "", "", {UNKNOWN: now_fs - since_fs})

    def _cause(self, row: int) -> int:
        if row in self._noted:
            return self._noted[row].row
        kind = self._op[row, 0]
        if kind in (codes.WAIT, codes.PIPE) and self._times.end_fs[row] > self._times.issue_fs[row]:
            found = self._causes.before_end(row)
            if found != NONE:
                return found
        if kind in (codes.EXEC, codes.MOVE):
            found = self._causes.before_start(row)
            if found != NONE:
                return found
        return self._causes.before_issue(row)

    def _piece(self, row: int, now_fs: int) -> Piece | None:
        """The work of a row up to a time; None for rows that only waited for another."""
        kind = int(self._op[row, 0])
        if kind not in codes.WORKING or (row in self._noted and kind in codes.BLOCKING):
            return None
        start_fs = int(self._times.start_fs[row])
        length = now_fs - start_fs
        spent = {codes.EXEC: self._exec, codes.MOVE: self._move}.get(kind, self._delay)(row, length)
        name, _ = self._program.tags[int(self._program.op_tag[row])]
        issued = row if self._program.op_thread[row] != NONE else self._causes.pipe_of(row)
        if role := self._role(row):
            spent = {f"{role}: {name}": length}
        return Piece(start_fs, now_fs, row, self._part(row), name, spent, issued)

    def _wait(self, row: int, now_fs: int) -> Piece | None:
        """The time between the cause of a row and its work, where the cause is noted; it is of no row."""
        noted = self._noted.get(row)
        if noted is None or noted.done_fs >= now_fs:
            return None
        spent = _fitted(noted.spent_fs, now_fs - noted.done_fs, UNKNOWN)
        return Piece(noted.done_fs, now_fs, NONE, self._part(row), "", spent)

    def _role(self, row: int) -> str:
        thread = int(self._program.op_thread[row])
        return self._program.threads[thread].role if thread != NONE else ""

    def _part(self, row: int) -> str:
        kind, machine = self._op[row, 0], self._program.machine
        if self._role(row):
            kind = NONE  # it is a part by itself
        server = int(self._op[row, 1] if kind == codes.EXEC else self._op[row, 5] if kind == codes.MOVE else NONE)
        if server != NONE:
            return machine.server_name[server]
        thread = int(self._program.op_thread[row])
        return self._program.threads[thread].name.partition("/")[0] if thread != NONE else ""

    def _exec(self, row: int, length: int) -> dict[str, int]:
        """The time of a job, by the class of its engine; of a processor by the kind of its node."""
        machine, server = self._program.machine, int(self._op[row, 1])
        kind, node = self._server_kind[server], machine.node_id.get(machine.server_name[server])
        return {machine.node_kind[node] if kind == "cpu" and node is not None else kind: length}

    def _delay(self, row: int, length: int) -> dict[str, int]:
        if self._op[row, 0] == codes.UNTIL:
            return {CLOCK: length}
        return self._named(int(self._op[row, 1]), length)

    def _named(self, duration: int, length: int) -> dict[str, int]:
        """A duration, by the parts whose unit costs it is made of."""
        figures, spent = self._program.machine.figures, dict[str, int]()
        for figure, amount in self._program.durations[duration]:
            part = CLOCK if figure == "ns" else figure.partition(".")[0]
            spent[part] = spent.get(part, 0) + round(figures[figure] * amount)
        return _fitted(spent, length, UNKNOWN)

    def _move(self, row: int, length: int) -> dict[str, int]:
        _, route, nbytes, _, _, _, _, lead = self._op[row].tolist()
        spent = self._named(lead, int(self._duration_fs[lead]))
        if nbytes:
            alone, contended = self._uncontended(route, nbytes)
            spent |= alone
            whole_fs = int(self._times.end_fs[row] - self._times.start_fs[row])
            # An arrival does not wait for the acknowledgement.
            spent[WIRES] = max(0, spent[WIRES] - (whole_fs - length))
            hidden_fs = sum(spent.values()) - length  # an overhead delays the first flit alone
            spent[OVERHEADS] -= max(0, min(hidden_fs, spent[OVERHEADS]))
            return _fitted(spent, length, CONTENTION + contended)
        return _fitted(spent, length, WIRES)

    def _uncontended(self, route: int, nbytes: int) -> tuple[dict[str, int], str]:
        """The uncontended time of a transfer by class, and the class of the busiest stations on its route; cached."""
        found = self._alone.get((route, nbytes))
        if found is None:
            latency = find_uncontended_latency(self._program.machine, route, nbytes)
            spent = {OVERHEADS: int(latency.overhead_fs.sum()), WIRES: latency.wire_fs}
            parts: list[tuple[str, int]] = [
                (self._station_kind[station], fs)
                for station, fs in zip(latency.station.tolist(), latency.first_fs.tolist(), strict=True)
            ]
            parts += [
                (self._classes(latency.station[latency.equals_of(step)]), int(latency.rest_fs[step]))
                for step in np.flatnonzero(latency.rest_fs).tolist()
            ]
            for kind, fs in parts:
                spent[kind] = spent.get(kind, 0) + fs
            busy_fs = self._station_busy_fs[latency.station]
            busiest = latency.station[busy_fs >= AS_SLOW * busy_fs.max()]
            found = self._alone[route, nbytes] = spent, self._classes(busiest)
        return found

    def _classes(self, stations: np.ndarray) -> str:
        """The classes of some stations as one."""
        kinds: set[str] = {self._station_kind[station] for station in stations.tolist()}
        return JOINED.join(sorted(kinds))


def _cut(piece: Piece, since_fs: int) -> Piece:
    """The part of a piece after a time."""
    return piece._replace(start_fs=since_fs, spent_fs=_fitted(piece.spent_fs, piece.end_fs - since_fs, UNKNOWN))


def _fitted(spent: Mapping[str, int], length: int, rest: str) -> dict[str, int]:
    """Adjust times to sum to a length: missing time goes to `rest`, excess is taken from the largest."""
    found = {name: fs for name, fs in spent.items() if fs}
    more = length - sum(found.values())
    if more > 0:
        found[rest] = found.get(rest, 0) + more
    while more < 0:
        largest = max(found, key=lambda name: found[name])
        taken = min(found[largest], -more)
        found[largest] -= taken
        more += taken
    return {name: fs for name, fs in found.items() if fs}
