"""Counters of a run over time: utilisation of links, memories and engines, and the length of queues.

Time is cut into windows of equal length, and a value is the mean of a window. Utilisation is of a class of parts in one process,
such as the NoC links of a cube, and of the busiest of these. Queues are of a class of servers in one process: how many jobs and
transfers wait.

An op log has no times of single flits. The time that a transfer takes at each link and memory channel is exact, and it is
spread evenly over the time during which its data are on the way. What then exceeds a class in a window goes to the next window
with room. So a value is an estimate, and the sum over all windows is exact: the busy time of the run, but for turns between
reads and writes. Jobs of engines and queues are exact in each window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.arrays import expand_ranges
from kernbench.machine.flit_service import padded_service_fs
from kernbench.oplog.transfer_kinds import STRIPE, group_transfers
from kernbench.oplog.utilisation import list_parts, list_services
from kernbench.program.encoded_rows import EncodedRows
from kernbench.trace.tables import COUNTER, GROUP, PROCESS, make_counters
from kernbench.trace.transfers import find_transfers
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import polars

    from kernbench.oplog.causes import Times
    from kernbench.program.program import Program
    from kernbench.trace.filters import TraceFilter
    from kernbench.trace.parts import PartTracks
    from kernbench.trace.tables import TrackTable

WINDOWS = 2048  # at most
_ROWS = 1 << 18  # that are spread at once
_WAITING = "waiting"


class _Windows(NamedTuple):
    """Windows of whole ns; the last may be shorter."""

    start_fs: np.ndarray  # int64[window]
    length_fs: np.ndarray  # int64[window]

    @classmethod
    def over(cls, start_fs: int, end_fs: int) -> _Windows:
        width_ns = max(1, -(-(end_fs - start_fs) // (WINDOWS * FS_PER_NS)))
        start = np.arange(start_fs, end_fs, width_ns * FS_PER_NS)
        return cls(start, np.diff(start, append=end_fs))

    def spread(self, column: np.ndarray, columns: int, start_fs: np.ndarray, end_fs: np.ndarray, weight: Any) -> Any:
        """float64[window, column], sparse: the sums of weights, each spread evenly over its time."""
        from scipy.sparse import csr_array

        shape = len(self.start_fs), columns
        found = csr_array(shape)
        weight = np.broadcast_to(np.asarray(weight, float), len(column))
        for at in range(0, len(column), _ROWS):
            here = slice(at, at + _ROWS)
            window, of, share = self._shares(start_fs[here], end_fs[here])
            found = found + csr_array((share * weight[here][of], (window, column[here][of])), shape)
        return found

    def _shares(self, start_fs: np.ndarray, end_fs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """int64[n] windows that times meet, int64[n] which of these does, float64[n] how much of it is in the window."""
        width, first_fs = int(self.length_fs[0]), int(self.start_fs[0])
        first = np.maximum((start_fs - first_fs) // width, 0)
        end = np.minimum(-((first_fs - end_fs) // width), len(self.start_fs))
        end = np.maximum(np.where(start_fs == end_fs, np.minimum(first + 1, len(self.start_fs)), end), first)
        window, of = expand_ranges(first, end)
        window_fs = first_fs + window * width
        within = np.minimum(end_fs[of], window_fs + width) - np.maximum(start_fs[of], window_fs)
        length = (end_fs - start_fs)[of]
        return window, of, np.where(length > 0, within / np.maximum(length, 1), 1.0)


class _Gauges(NamedTuple):
    """Counters that are to be: each of some parts, with a name, in a group of a process."""

    name: list[str]
    process: list[str]
    parts: Any  # float64[part, gauge], sparse: 1 where a part counts
    slots: np.ndarray  # float64[gauge]


def count_over_time(
    program: Program, times: Times, end_fs: int, chosen: TraceFilter, parts: PartTracks, tracks: TrackTable
) -> polars.DataFrame:
    """The table `counters` of a run that ends at a time; their tracks are added."""
    import polars

    start_fs, end_fs = chosen.start_fs, min(end_fs, chosen.end_fs)
    if end_fs <= start_fs or not chosen.matches(list_parts(program.machine).name).any():
        return make_counters()
    windows = _Windows.over(start_fs, end_fs)
    found = [
        _make_utilisation(program, times, windows, chosen, parts, tracks),
        _make_queues(program, times, windows, chosen, parts, tracks),
    ]
    return polars.concat(found)


def _make_utilisation(
    program: Program, times: Times, windows: _Windows, chosen: TraceFilter, parts: PartTracks, tracks: TrackTable
) -> polars.DataFrame:
    held, served, service_fs = _spread_work(program, times, windows)
    busy_fs = np.concatenate([held.sum(axis=0), service_fs.T @ served.sum(axis=0)])
    gauges = _list_gauges(program, busy_fs, chosen, parts)
    servers = held.shape[1]
    used_fs = (held @ gauges.parts[:servers] + served @ (service_fs @ gauges.parts[servers:])).toarray()
    room_fs = windows.length_fs[:, None] * gauges.slots
    share = 100 * _fit(used_fs, room_fs) / room_fs
    return _make_tracks(windows, share, gauges.name, gauges.process, "utilisation", "%", tracks)


def _spread_work(program: Program, times: Times, windows: _Windows) -> tuple[Any, Any, Any]:
    """Sparse float64[window, server] fs held, [window, kind of transfer] how many were on the way, [kind, station] fs of each."""
    from scipy.sparse import csr_array

    machine, ended = program.machine, times.end_fs >= 0
    row = np.flatnonzero(ended)
    server = _held_servers(program)[row]
    row, server = row[server >= 0], server[server >= 0]
    start_fs, end_fs = times.start_fs[row], times.end_fs[row]
    held = windows.spread(server, len(machine.server_name), start_fs, end_fs, end_fs - start_fs)
    kinds = group_transfers(program, ended, STRIPE)
    row = np.flatnonzero(ended)
    found = find_transfers(program, times, row, ends=False)
    kind = kinds.which[row[found.at]]
    served = windows.spread(kind, len(kinds.kinds), found.leave_fs, found.arrive_fs, 1)
    services = list_services(machine, kinds.kinds)
    full_fs = machine.stations.fs_per_flit[services.station]
    took_fs = padded_service_fs(services.nbytes, full_fs, machine.flit_bytes) * services.count
    shape = len(kinds.kinds), len(machine.station_name)
    return held, served, csr_array((took_fs.astype(float), (services.kind, services.station)), shape)


def _held_servers(program: Program) -> EncodedRows:
    """int32[row] the server that each row holds, negative for none."""
    from kernels_jit.measure.held_servers import find_held_servers

    held = EncodedRows(np.empty(len(program.op.values), np.int32), program.op.entry)
    find_held_servers(program.op.values, held.values)
    return held


def _list_gauges(program: Program, busy_fs: np.ndarray, chosen: TraceFilter, parts: PartTracks) -> _Gauges:
    """Of each class in each process that was busy: all its parts together, and the busiest. `busy_fs`: float64[part]."""
    from scipy.sparse import csr_array

    known = list_parts(program.machine)
    members: dict[tuple[str, str], list[int]] = {}
    for at in np.flatnonzero(chosen.matches(known.name)).tolist():
        members.setdefault((parts.split(known.name[at])[0], known.kind[at]), []).append(at)
    names, processes, of = list[str](), list[str](), list[list[int]]()
    for (process, kind), those in members.items():
        busiest = max(those, key=lambda at: busy_fs[at])
        if busy_fs[busiest] == 0:
            continue
        names.append(kind if len(those) == 1 else f"{kind}, mean of {len(those)}")
        of.append(those)
        if len(those) > 1:
            names.append(f"{kind}, busiest: {known.name[busiest]}")
            of.append([busiest])
        processes += [process] * (len(names) - len(processes))
    part = np.array([at for those in of for at in those], np.int64)
    gauge = np.repeat(np.arange(len(of)), [len(those) for those in of])
    counted = csr_array((np.ones(len(part)), (part, gauge)), (len(known.name), len(of)))
    return _Gauges(names, processes, counted, known.slots @ counted)


def _fit(used: np.ndarray, room: np.ndarray) -> np.ndarray:
    """float64[window, gauge] use that fits the room: what exceeds it goes to later windows, and from the last to earlier ones."""
    found = used.copy()
    for windows in (range(len(found)), reversed(range(len(found)))):
        more = np.zeros(found.shape[1])
        for at in windows:
            more += found[at]
            np.minimum(more, room[at], out=found[at])
            more -= found[at]
    return found


def _make_queues(
    program: Program, times: Times, windows: _Windows, chosen: TraceFilter, parts: PartTracks, tracks: TrackTable
) -> polars.DataFrame:
    machine = program.machine
    row = np.flatnonzero((times.start_fs > times.issue_fs) & (times.issue_fs >= 0))
    server = _held_servers(program)[row]
    known = chosen.matches(machine.server_name)
    here = (server >= 0) & known[server]
    row, server = row[here], server[here]
    names = [(parts.split(name)[0], kind) for name, kind in zip(machine.server_name, machine.server_kind, strict=True)]
    classes = {name: number for number, name in enumerate(dict.fromkeys(names))}
    of = np.array([classes[name] for name in names], np.int64)
    issue_fs, start_fs = times.issue_fs[row], times.start_fs[row]
    waited = windows.spread(of[server], len(classes), issue_fs, start_fs, start_fs - issue_fs).toarray()
    used = np.flatnonzero(waited.any(axis=0)).tolist()
    keys = list(classes)
    length = waited[:, used] / windows.length_fs[:, None]
    return _make_tracks(
        windows, length, [keys[at][1] for at in used], [keys[at][0] for at in used], "queues", _WAITING, tracks
    )


def _make_tracks(
    windows: _Windows,
    values: np.ndarray,
    names: list[str],
    processes: list[str],
    group: str,
    unit: str,
    tracks: TrackTable,
) -> polars.DataFrame:
    """The counters of float64[window, counter] values in a group of each process; a value that stays is there once."""
    number = np.array(
        [
            tracks.find(name, COUNTER, tracks.find(group, GROUP, tracks.find(process, PROCESS)), unit)
            for name, process in zip(names, processes, strict=True)
        ],
        np.int64,
    )
    values = np.vstack([values, np.zeros(len(number))])
    time_fs = np.append(windows.start_fs, windows.start_fs[-1] + windows.length_fs[-1])
    changes = np.diff(values, axis=0, prepend=np.full((1, len(number)), -1.0)) != 0
    counter, window = np.nonzero(changes.T)
    return make_counters({"track": number[counter], "time_fs": time_fs[window], "value": values[window, counter]})
