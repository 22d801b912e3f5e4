"""Which kind of part was busiest while kernels ran.

Parts are grouped into classes (GEMM engines, router links, HBM channels, ...). A class is as utilised as its busiest
member: with one GEMM on one PE of 256, that PE's engine is what would have to be faster. Busy time is taken from
rows rather than from the run's totals, so that it can be that of the kernels alone: mapping messages and copies of the host
come before and would make a link busier than the kernels' own time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.flit_service import pad, padded_service_fs
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
    machine, kind = program.machine, program.op[rows, 0]
    rows = rows[(kind == Op.EXEC) | (kind == Op.MOVE)]
    op, took = program.op[rows], end_fs[rows] - start_fs[rows]
    busy = np.zeros(len(machine.server_name) + len(machine.station_name), np.int64)
    server = held_servers(op)
    np.add.at(busy, server[server != NONE], took[server != NONE])
    services = count_services(machine, op[op[:, 0] == Op.MOVE])
    fs = services.fs(machine.stations.fs_per_flit[services.station], machine.flit_bytes)
    np.add.at(busy, len(machine.server_name) + services.station, fs)
    return busy


def held_servers(op: np.ndarray) -> np.ndarray:
    """int64[row] the server that each row of an op table holds, or NONE."""
    return np.where(op[:, 0] == Op.EXEC, op[:, 1], np.where(op[:, 0] == Op.MOVE, op[:, 5], NONE))


def _unique_moves(moves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int64[kind, 3] route, bytes and stripe of moves that differ in one of them, and int64[kind] how many are of each."""
    sizes, size = np.unique(moves[:, 2], return_inverse=True)
    stripes, stripe = np.unique(moves[:, 3], return_inverse=True)
    keys, count = np.unique((moves[:, 1] * len(sizes) + size) * len(stripes) + stripe, return_counts=True)
    keys, stripe = np.divmod(keys, max(len(stripes), 1))
    route, size = np.divmod(keys, max(len(sizes), 1))
    return np.stack([route, sizes[size], stripes[stripe]], axis=1), count


class Services(NamedTuple):
    """How many flits of which size stations serve; a size is rounded up to what its station serves at once."""

    station: np.ndarray  # int64[service], in order
    nbytes: np.ndarray  # int64[service]
    count: np.ndarray  # int64[service]

    def fs(self, fs_per_flit: np.ndarray, flit_bytes: int) -> np.ndarray:
        """int64[..., service] what all flits of each take, but for turns between reads and writes.

        `fs_per_flit`: int64[..., service] what a full one takes there.
        """
        return padded_service_fs(self.nbytes, fs_per_flit, flit_bytes) * self.count


def count_services(machine: Machine, moves: np.ndarray) -> Services:
    """The services of every flit of some rows that are moves, as the loop does it."""
    routes, quantum, flit_bytes = machine.routing.tables(), machine.stations.quantum_bytes, machine.flit_bytes
    kinds, count = _unique_moves(moves)
    steps = np.diff(routes.start)[kinds[:, 0]]
    of = np.repeat(np.arange(len(kinds)), steps)
    step = np.repeat(routes.start[kinds[:, 0]], steps) + np.arange(len(of)) - np.repeat(np.cumsum(steps) - steps, steps)
    flits = -(-kinds[of, 1] // flit_bytes)
    last_bytes = kinds[of, 1] - (flits - 1) * flit_bytes
    stripes = routes.stripes[step]
    found = [np.zeros((3, 0), np.int64)]
    for stripe in range(int(stripes.max(initial=0))):
        first = (stripe - kinds[of, 2]) % stripes  # the first flit on this stripe
        here = (stripe < stripes) & (first < flits)
        station = routes.station[step[here]] + stripe
        n = (flits[here] - 1 - first[here]) // stripes[here] + 1
        ends_here = (flits[here] - 1 - first[here]) % stripes[here] == 0  # with the last flit, which may be partial
        padded = pad(last_bytes[here], quantum[station], flit_bytes)
        full = np.full(len(station), flit_bytes)
        found.append(np.stack([station, full, (n - ends_here) * count[of[here]]]))
        found.append(np.stack([station, padded, ends_here * count[of[here]]]))
    station, nbytes, count = np.concatenate(found, axis=1)
    sizes, which = np.unique(np.stack([station, nbytes])[:, count > 0], axis=1, return_inverse=True)
    counts = np.zeros(sizes.shape[1], np.int64)
    np.add.at(counts, which.reshape(-1), count[count > 0])
    return Services(sizes[0], sizes[1], counts)
