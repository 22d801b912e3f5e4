"""Counters of a run over time: utilisation of links, memories and engines, the length of queues, and power.

Time is cut into bins of equal length, and a value is the mean of a bin. Utilisation is of a class of parts in one
process, such as the NoC links of a cube, and of the busiest of these. Queues are of a class of servers in one process: how
many jobs and transfers wait. Power is the mean of a bin, too (`trace.power`).

An op log has no times of single flits. The time that a transfer takes at each link and memory channel is exact, and it is
spread evenly over the time during which its data are on the way. What then exceeds a class in a bin goes to the next bin
with room. So a value is an estimate, and the sum over all bins is exact: the busy time of the run, but for turns between
reads and writes. Jobs of engines and queues are exact in each bin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.arrays import make_sparse
from kernbench.energy.run_energy import is_priced
from kernbench.machine.network.flit_service import padded_service_fs
from kernbench.oplog.bins import Bins, fit, rounded
from kernbench.oplog.transfer_kinds import STRIPE, group_transfers
from kernbench.oplog.transfers import find_transfers
from kernbench.oplog.utilisation import list_parts, list_services
from kernbench.program.encoded_rows import EncodedRows
from kernbench.trace.power import measure_power
from kernbench.trace.tables import COUNTER, GROUP, PROCESS, make_counters
from kernbench.trace.use import Held, Moved, spread_held, spread_moved, spread_waiting
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import polars

    from kernbench.machine.machine import Machine
    from kernbench.oplog.causes import Times
    from kernbench.program.program import Program
    from kernbench.trace.filters import TraceFilter
    from kernbench.trace.parts import PartTracks
    from kernbench.trace.tables import TrackTable

_WAITING = "waiting"
ROWS = 1 << 17  # that are counted at once


class _Gauges(NamedTuple):
    """Counters that are to be: each of some parts, with a name, in a group of a process."""

    name: list[str]
    process: list[str]
    parts: Any  # float64[part, gauge], sparse: 1 where a part counts
    slots: np.ndarray  # float64[gauge]


class Level(NamedTuple):
    """How much of something there was over time: int64[change] times (fs), and the value from each on."""

    name: str
    unit: str
    time_fs: np.ndarray
    value: np.ndarray


def list_levels(levels: Sequence[Level], chosen: TraceFilter, tracks: TrackTable, parent: int) -> polars.DataFrame:
    """The table `counters` of levels: each change within the time that is chosen, and what there is as it begins."""
    import polars

    found = [make_counters()]
    for level in levels:
        track = tracks.find(level.name, COUNTER, parent, level.unit)
        changed = np.diff(level.value, prepend=-1) != 0
        time_fs, value = level.time_fs[changed], level.value[changed].astype(float)
        first, after = (int(np.searchsorted(time_fs, limit_fs)) for limit_fs in (chosen.start_fs, chosen.end_fs))
        if first and (first == len(time_fs) or time_fs[first] > chosen.start_fs):
            first -= 1
        time_fs, value = np.maximum(time_fs[first:after], chosen.start_fs), value[first:after]
        found.append(make_counters({"track": np.full(len(value), track), "time_fs": time_fs, "value": value}))
    return polars.concat(found)


def count_over_time(
    program: Program, times: Times, end_fs: int, chosen: TraceFilter, parts: PartTracks, tracks: TrackTable
) -> polars.DataFrame:
    """The table `counters` of a run that ends at a time; their tracks are added."""
    import polars

    start_fs = chosen.start_fs // FS_PER_NS * FS_PER_NS  # whole ns, as times of the file are
    end_fs = -(-min(end_fs, chosen.end_fs) // FS_PER_NS) * FS_PER_NS
    if end_fs <= start_fs or not chosen.matches(list_parts(program.machine).name).any():
        return make_counters()
    bins = Bins.over(start_fs, end_fs)
    found = [
        _make_utilisation(program, times, bins, chosen, parts, tracks),
        _make_queues(program, times, bins, chosen, parts, tracks),
    ]
    if is_priced(program.machine):
        power = measure_power(program, times, bins, chosen, parts)
        found.append(_make_tracks(bins, power.watts, power.name, power.process, "power", "W", tracks))
    return polars.concat(found)


def _make_utilisation(
    program: Program, times: Times, bins: Bins, chosen: TraceFilter, parts: PartTracks, tracks: TrackTable
) -> polars.DataFrame:
    machine, ended = program.machine, times.end_fs >= 0
    servers = find_held_servers(program)
    kinds = group_transfers(program, ended, STRIPE)
    served_fs = _list_served(machine, kinds.kinds)
    busy_fs = served_fs.T @ kinds.count
    for row in _blocks(ended):
        held = _list_held(servers, times, row)
        busy_fs += np.bincount(held.server, held.end_fs - held.start_fs, len(busy_fs))
    gauges = _list_gauges(machine, busy_fs, chosen, parts)
    used_fs = np.zeros((len(bins.start_fs), len(gauges.name)))
    for row in _blocks(ended):
        found = find_transfers(program, times, row, ends=False)
        moved = Moved(kinds.which[row[found.at]], found.leave_fs, found.arrive_fs)
        used_fs += spread_held(bins, _list_held(servers, times, row), gauges.parts)
        used_fs += spread_moved(bins, moved, served_fs @ gauges.parts)
    room_fs = bins.length_fs[:, None] * gauges.slots
    share = 100 * fit(used_fs, room_fs) / room_fs
    return _make_tracks(bins, share, gauges.name, gauges.process, "utilisation", "%", tracks)


def _list_served(machine: Machine, kinds: np.ndarray) -> Any:
    """float64[kind, part], sparse: how long (fs) a transfer of each kind keeps each link and memory channel busy."""
    services = list_services(machine, kinds)
    full_fs = machine.stations.fs_per_flit[services.station]
    took_fs = padded_service_fs(services.nbytes, full_fs, machine.flit_bytes) * services.count
    servers = len(machine.server_name)
    shape = len(kinds), servers + len(machine.station_name)
    return make_sparse(services.kind, servers + services.station, took_fs, shape)


def _blocks(chosen: np.ndarray) -> Iterator[np.ndarray]:
    """int64[n] the numbers of rows that are chosen, bool[row], a part at a time."""
    for first in range(0, len(chosen), ROWS):
        yield first + np.flatnonzero(chosen[first : first + ROWS])


def _list_held(servers: EncodedRows, times: Times, row: np.ndarray) -> Held:
    """The jobs and transfers among int64[n] rows that hold a server; `servers` are those of all rows."""
    server = servers[row]
    row, server = row[server >= 0], server[server >= 0]
    return Held(server, times.issue_fs[row], times.start_fs[row], times.end_fs[row])


def find_held_servers(program: Program) -> EncodedRows:
    """int32[row] the server that each row holds, negative for none."""
    from kernels_jit.measure import held_servers

    held = EncodedRows(np.empty(len(program.op.values), np.int32), program.op.entry)
    held_servers.find_held_servers(program.op.values, held.values)
    return held


def _list_gauges(machine: Machine, busy_fs: np.ndarray, chosen: TraceFilter, parts: PartTracks) -> _Gauges:
    """Of each class in each process that was busy: all its parts together, and the busiest. `busy_fs`: float64[part]."""
    from scipy.sparse import csr_array  # pyright: ignore[reportMissingTypeStubs]

    known = list_parts(machine)
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


def _make_queues(
    program: Program, times: Times, bins: Bins, chosen: TraceFilter, parts: PartTracks, tracks: TrackTable
) -> polars.DataFrame:
    from scipy.sparse import csr_array  # pyright: ignore[reportMissingTypeStubs]

    machine = program.machine
    names = [(parts.split(name)[0], kind) for name, kind in zip(machine.server_name, machine.server_kind, strict=True)]
    classes = {name: number for number, name in enumerate(dict.fromkeys(names))}
    known = chosen.matches(machine.server_name).astype(float)
    of = csr_array((known, (np.arange(len(names)), [classes[name] for name in names])))
    length, servers = np.zeros((len(bins.start_fs), len(classes))), find_held_servers(program)
    for row in _blocks(np.ones(len(times.issue_fs), bool)):
        length += spread_waiting(bins, _list_held(servers, times, row), of)
    used = np.flatnonzero(rounded(length).any(axis=0)).tolist()
    kinds, processes = [[*classes][at][1] for at in used], [[*classes][at][0] for at in used]
    return _make_tracks(bins, length[:, used], kinds, processes, "queues", _WAITING, tracks)


def _make_tracks(
    bins: Bins,
    values: np.ndarray,
    names: list[str],
    processes: list[str],
    group: str,
    unit: str,
    tracks: TrackTable,
) -> polars.DataFrame:
    """The counters of float64[bin, counter] values in a group of each process; a value that stays is there once."""
    number = np.array(
        [
            tracks.find(name, COUNTER, tracks.find(group, GROUP, tracks.find(process, PROCESS)), unit)
            for name, process in zip(names, processes, strict=True)
        ],
        np.int64,
    )
    values = np.vstack([rounded(values), np.zeros(len(number))])
    time_fs = np.append(bins.start_fs, bins.end_fs)
    changes = np.diff(values, axis=0, prepend=np.full((1, len(number)), -1.0)) != 0
    counter, at = np.nonzero(changes.T)
    return make_counters({"track": number[counter], "time_fs": time_fs[at], "value": values[at, counter]})
