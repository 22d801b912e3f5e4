"""Utilisation of parts while kernels ran, and the bottleneck.

Parts are grouped into classes (GEMM engines, router links, HBM channels, ...). The utilisation of a class is that of its
busiest member: with one GEMM on one PE of 256, that PE's engine is the limit. Busy time is summed over rows rather than taken
from the run's totals, so that it covers the kernels alone: mapping messages and copies of the host come before them and would
make a link busier than the kernels' own time.

A DMA channel is occupied for the whole round trip of a transfer, while the links and memories on the way do the work. So it has
a utilisation but is never the bottleneck: one at 100 % says how the kernel asks for its data, not what serves it slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import expand_ranges, unique_rows
from kernbench.machine.intents import EdgeKind
from kernbench.machine.network.flit_service import pad, padded_service_fs
from kernbench.oplog.transfer_kinds import STRIPE, TransferKinds, group_transfers

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program


OCCUPIED = ("dma_read", "dma_write")  # classes that wait for the work of others


AS_BUSY = 0.98  # of the busiest: of two parts that pass the same data one may pass a few other data too
JOINED = " and "  # classes that are limits together


class Bottleneck(NamedTuple):
    """The most utilised class that does work, its busiest part, and the utilisation of that part.

    `kind` names all classes that are as busy, within 2 %: "hbm_ctrl channels and noc links".
    """

    kind: str
    part: str
    utilisation: float


class Parts(NamedTuple):
    """The parts that can be busy: names, classes, and the number of slots of each."""

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


def find_bottlenecks(
    parts: Parts, part: np.ndarray, busy_fs: np.ndarray, span_fs: np.ndarray
) -> list[Bottleneck | None]:
    """The most utilised part of each run that does work, the first of equals, with all classes that are as busy.

    None where nothing was busy.

    `part`: int64[busy part], rising; `busy_fs`: float64[run, busy part]; `span_fs`: int64[run] that they are of.
    """
    working = np.array([parts.kind[at] not in OCCUPIED for at in part.tolist()], bool)
    part, busy_fs = part[working], busy_fs[:, working]
    if not len(part):
        return [None] * len(busy_fs)
    works = (span_fs > 0) & busy_fs.any(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # of runs whose window is empty
        utilisation = busy_fs / (parts.slots[part] * span_fs[:, None].astype(np.float64))
    kinds, of = np.unique(np.array([parts.kind[at] for at in part.tolist()], str), return_inverse=True)
    most = np.stack([utilisation[:, of == kind].max(axis=1) for kind in range(len(kinds))], axis=1)
    found: list[Bottleneck | None] = []
    for run, works_at_all in enumerate(works.tolist()):
        if not works_at_all:
            found.append(None)
            continue
        at = int(np.argmax(utilisation[run]))
        share = float(utilisation[run, at])
        found.append(Bottleneck(JOINED.join(kinds[most[run] >= AS_BUSY * share]), parts.name[part[at]], share))
    return found


class BusyParts:
    """How long the jobs and transfers among some rows of a program keep each part busy, in many runs at once.

    `counted`: bool[row].
    """

    def __init__(self, program: Program, counted: np.ndarray) -> None:
        from kernels_jit.measure.held_servers import find_held_servers

        machine = program.machine
        op = program.op
        self._held, self._entry, self._counted = np.empty(len(op.values), np.int32), op.entry, counted
        find_held_servers(op.values, self._held)
        held = self._held[op.counts(counted) > 0]
        transfers = group_transfers(program, counted, STRIPE)
        self._servers = np.unique(held[held >= 0])
        self._services, self._flit_bytes = count_services(machine, transfers), machine.flit_bytes
        self.station = self._services.station  # int64[service]
        stations, self._stations_start = np.unique(self.station, return_index=True)
        self.part = np.concatenate([self._servers, len(machine.server_name) + stations])  # int64[busy part], rising
        self._server_count = len(machine.server_name)

    def fs(self, times: np.ndarray, fs_per_flit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """float64[run, busy part], but for turns between reads and writes; bool[run] whether all counted rows have ended.

        `times`: TIME[run, row]; `fs_per_flit`: int64[run, service] what a full flit takes at `station`.
        """
        from kernels_jit.measure.held_servers import sum_held

        took = np.zeros((len(times), self._server_count))
        held = self._held, self._entry, self._counted
        missing = [sum_held(*held, own, busy) for own, busy in zip(times, took, strict=True)]
        served = self._services.fs(fs_per_flit, self._flit_bytes)
        busy_fs = np.append(took[:, self._servers], _sums(served, self._stations_start), axis=1)
        return busy_fs, np.array(missing, np.int64) == 0


def _sums(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """int64[run, part] sums of int64[run, job] from each start, int64[part], to the next."""
    return np.add.reduceat(values, start, axis=1) if len(start) else values[:, :0]


class Services(NamedTuple):
    """The flits that stations serve, by size; a size is rounded up to the quantum of its station."""

    station: np.ndarray  # int64[service], in order
    nbytes: np.ndarray  # int64[service]
    count: np.ndarray  # int64[service]  # pyright: ignore[reportIncompatibleMethodOverride]

    def fs(self, fs_per_flit: np.ndarray, flit_bytes: int) -> np.ndarray:
        """int64[..., service] time of all flits of each, without turnarounds between reads and writes.

        `fs_per_flit`: int64[..., service] time of a full flit at the station.
        """
        return padded_service_fs(self.nbytes, fs_per_flit, flit_bytes) * self.count


class KindServices(NamedTuple):
    """The services of the flits of kinds of transfers, in no certain order; one of each kind."""

    kind: np.ndarray  # int64[service] the kind
    station: np.ndarray  # int64[service]
    nbytes: np.ndarray  # int64[service] of each flit, padded
    count: np.ndarray  # int64[service] flits  # pyright: ignore[reportIncompatibleMethodOverride]


def list_services(machine: Machine, kinds: np.ndarray) -> KindServices:
    """The services of every flit of kinds of transfers, int64[kind, 3] as of `TransferKinds`, as the loop does them."""
    routes, quantum, flit_bytes = machine.routing.tables(), machine.stations.quantum_bytes, machine.flit_bytes
    step, of = expand_ranges(routes.start[kinds[:, 0]], routes.end[kinds[:, 0]])
    flits = -(-kinds[of, 1] // flit_bytes)
    last_bytes = kinds[of, 1] - (flits - 1) * flit_bytes
    stripes = routes.stripes[step]
    found = [np.zeros((4, 0), np.int64)]
    for stripe in range(int(stripes.max(initial=0))):
        first = (stripe - kinds[of, 2]) % stripes  # the first flit on this stripe
        here = (stripe < stripes) & (first < flits)
        station = routes.station[step[here]] + stripe
        n = (flits[here] - 1 - first[here]) // stripes[here] + 1
        ends_here = (flits[here] - 1 - first[here]) % stripes[here] == 0  # with the last flit, which may be partial
        padded = pad(last_bytes[here], quantum[station], flit_bytes)
        full = np.full(len(station), flit_bytes)
        found.append(np.stack([of[here], station, full, n - ends_here]))
        found.append(np.stack([of[here], station, padded, ends_here]))
    return KindServices(*np.concatenate(found, axis=1))


def count_services(machine: Machine, transfers: TransferKinds) -> Services:
    """The services of every flit of some transfers, grouped by stripe, as the loop does them."""
    one = list_services(machine, transfers.kinds)
    count = one.count * transfers.count[one.kind]
    sizes = unique_rows(np.column_stack([one.station, one.nbytes])[count > 0])
    counts = np.zeros(len(sizes.rows), np.int64)
    np.add.at(counts, sizes.which, count[count > 0])
    station, nbytes = np.ascontiguousarray(sizes.rows.T)
    return Services(station, nbytes, counts)
