"""Which kind of part was busiest while kernels ran.

Parts are grouped into classes (GEMM engines, router links, HBM channels, ...). A class is as utilised as its busiest
member: with one GEMM on one PE of 256, that PE's engine is what would have to be faster. Busy time is taken from
rows rather than from the run's totals, so that it can be that of the kernels alone: mapping messages and copies of the host
come before and would make a link busier than the kernels' own time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.intents import EdgeKind
from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program


class Bottleneck(NamedTuple):
    """The most utilised class, its busiest part, and how much of the time that was busy."""

    kind: str
    part: str
    utilisation: float


class Parts(NamedTuple):
    """What can be busy: names, classes and how many things each can do at once."""

    name: tuple[str, ...]
    kind: tuple[str, ...]
    slots: np.ndarray  # int64[part]


def list_parts(machine: Machine) -> Parts:
    """The servers of a machine, then its stations."""
    names = {kind.value: f"{kind.name.lower()} links" for kind in EdgeKind}
    links = tuple(names[kind] for kind in machine.edge_kind.tolist())
    channels = [""] * (len(machine.station_name) - len(links))
    for node, terminal in machine.terminals.items():
        first = terminal.first_station - len(links)
        channels[first : first + terminal.stripes] = [f"{machine.node_kind[node]} channels"] * terminal.stripes
    ones = np.ones(len(machine.station_name), np.int64)
    return Parts(
        machine.server_name + machine.station_name,
        machine.server_kind + links + tuple(channels),
        np.concatenate([np.asarray(machine.server_slots, np.int64), ones]),
    )


def find_bottleneck(parts: Parts, busy_fs: np.ndarray, window_fs: int) -> Bottleneck | None:
    """The most utilised part of a window, the first of equals; None when nothing was busy. `busy_fs`: int64[part]."""
    if window_fs <= 0 or not busy_fs.any():
        return None
    utilisation = busy_fs / (parts.slots * window_fs)
    at = int(np.argmax(utilisation))
    return Bottleneck(parts.kind[at], parts.name[at], float(utilisation[at]))


def busy_of_rows(program: Program, rows: np.ndarray, start_fs: np.ndarray, end_fs: np.ndarray) -> np.ndarray:
    """int64[part] how long the jobs and transfers among these rows kept each part busy; times are int64[row]."""
    machine = program.machine
    op, took = program.op[rows], (end_fs - start_fs)[rows]
    busy = np.zeros(len(machine.server_name) + len(machine.station_name), np.int64)
    server = np.where(op[:, 0] == Op.EXEC, op[:, 1], np.where(op[:, 0] == Op.MOVE, op[:, 5], NONE))
    np.add.at(busy, server[server != NONE], took[server != NONE])
    _add_stations(machine, op[op[:, 0] == Op.MOVE], busy[len(machine.server_name) :])
    return busy


def _add_stations(machine: Machine, moves: np.ndarray, busy: np.ndarray) -> None:
    """Add the service of every flit of the moves, as the loop does it, but for turns between reads and writes."""
    routes, stations, flit_bytes = machine.routing.tables(), machine.stations, machine.flit_bytes
    kinds, count = np.unique(moves[:, 1:4], axis=0, return_counts=True)  # route, bytes, stripe
    steps = np.diff(routes.start)[kinds[:, 0]]
    of = np.repeat(np.arange(len(kinds)), steps)
    step = np.repeat(routes.start[kinds[:, 0]], steps) + np.arange(len(of)) - np.repeat(np.cumsum(steps) - steps, steps)
    flits = -(-kinds[of, 1] // flit_bytes)
    last_bytes = kinds[of, 1] - (flits - 1) * flit_bytes
    stripes = routes.stripes[step]
    for stripe in range(int(stripes.max(initial=0))):
        first = (stripe - kinds[of, 2]) % stripes  # the first flit on this stripe
        here = (stripe < stripes) & (first < flits)
        station = routes.station[step[here]] + stripe
        full = stations.fs_per_flit[station]
        n = (flits[here] - 1 - first[here]) // stripes[here] + 1
        padded = -(-last_bytes[here] // stations.quantum_bytes[station]) * stations.quantum_bytes[station]
        ends_here = (flits[here] - 1 - first[here]) % stripes[here] == 0
        saved = np.where(ends_here, full - -(-padded * full // flit_bytes), 0)  # by a last flit that is not full
        np.add.at(busy, station, (n * full - saved) * count[of[here]])
