"""The loop's memory: one int64 array, laid out and enlarged here, read and written by the compiled code.

Sizes start small and double: a run holds what is in flight, whatever the length of the program. A region that must grow
is copied to the end of the array; rows that others point at (jobs, flights, stations) never move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.engine.aligned import aligned_zeros
from kernels_jit import codes
from kernels_jit import state as at
from kernels_jit.state import NEVER

if TYPE_CHECKING:
    from kernbench.engine.network import Network
    from kernbench.machine.machine import Machine

_FLIGHTS_MOST_WORDS = at.HOP_COLUMNS << (63 - at.FLIT_SHIFT)  # what a packed flit can point at
_SWEEP_FLITS = 1024  # flits of the median link in the longest sweep: so many can stand in a queue that need not
_SLACK_FLITS = 1 << 16  # how far beyond its horizon a station may serve: a megabyte for each queue that is too fast
_POOL_BLOCKS = 128  # of the smallest pool


class Memory:
    """The words of a run and where its tables stand. `words` is int64[word]; it is replaced when it grows."""

    def __init__(self, machine: Machine, *, hybrid: bool) -> None:
        self.words = aligned_zeros(1 << 16)
        self._used = at.HEADER
        self._room: dict[int, int] = {}  # words of the region of each base
        self._stations = len(machine.stations.fs_per_flit)
        self._flights = 0
        self._flight_blocks: list[tuple[int, int]] = []  # where each begins, how many it holds
        self._stripes = 0
        self._steps = 0  # of the routes that have been laid
        self._order = np.zeros(0, np.int64)  # stations in the order of visits
        self._pairs = np.zeros(0, np.int64)  # (station, feeder) of each port, packed
        header = self.words
        header[at.HYBRID] = int(hybrid)
        header[at.FLIT_BYTES] = machine.flit_bytes
        header[at.FLIGHT_WORDS] = at.FLIGHT_HOPS  # those of a program that moves nothing
        header[[at.RESUME, at.ASKING, at.JOB_FREE, at.FLIGHT_FREE, at.POOL_FREE, at.SWEEP_FS]] = codes.NONE
        header[at.UNLAID] = NEVER
        header[at.MARGIN] = 8 + at.LINE_MOST + int(max(machine.server_slots, default=0))
        limits = find_limits(machine.stations.fs_per_flit[None])
        self._cap_fs, header[at.SLACK_FS] = limits[0].tolist()
        self._lay_stations(machine)
        self._lay_servers(machine)
        self.grow_heap()
        self.grow_jobs()

    # Regions

    def _take(self, words: int, align: int = 1) -> int:
        """The start of a region of zeros at the end of what is used."""
        start = -(-self._used // align) * align
        end = start + words
        if end > len(self.words):
            bigger = aligned_zeros(max(end, 2 * len(self.words)))
            bigger[: self._used] = self.words[: self._used]
            self.words = bigger
        self._used = end
        return start

    def _fit(self, base: int, words: int) -> np.ndarray:
        """The region of a base, with room for so many words; what it held is kept."""
        room = self._room.get(base, 0)
        if words > room:
            start = self._take(max(words, 2 * room), at.PORT_COLUMNS)
            old = int(self.words[base])
            self.words[start : start + room] = self.words[old : old + room]
            self.words[base] = start
            self._room[base] = max(words, 2 * room)
        start = int(self.words[base])
        return self.words[start : start + self._room.get(base, 0)]

    def table(self, base: int, rows: int, columns: int) -> np.ndarray:
        """int64[rows, columns] view of a table; good until the memory grows."""
        start = int(self.words[base])
        return self.words[start : start + rows * columns].reshape(rows, columns)

    def write(self, base: int, values: np.ndarray, start: int = 0) -> None:
        """Put values into the region of a base, from a word of it on."""
        flat = np.ascontiguousarray(values).reshape(-1)
        self._fit(base, start + len(flat))[start : start + len(flat)] = flat

    # What a machine brings

    def _lay_stations(self, machine: Machine) -> None:
        rows = np.zeros((self._stations, at.STATION_COLUMNS), np.int64)
        brought = (at.STATION_FULL_FS, at.STATION_QUANTUM, at.STATION_TURN_FS, at.STATION_PROPAGATION_FS)
        rows[:, brought] = np.stack(machine.stations, axis=1)
        rows[:, [at.STATION_SOURCE, at.STATION_SOURCE_LAST, at.STATION_DIRECTION, at.STATION_ALONE]] = codes.NONE
        self.write(at.STATIONS, rows)
        self.words[at.WORDS] = (self._stations + 63) // 64
        self._fit(at.PENDING, int(self.words[at.WORDS]))
        visits = np.zeros((64 * int(self.words[at.WORDS]), at.VISIT_COLUMNS), np.int64)
        visits[:, at.VISIT_HEAD_FS] = NEVER
        self.write(at.VISITS, visits)
        self.write(at.WORD_FS, np.full(int(self.words[at.WORDS]), NEVER, np.int64))
        self.write(at.GROUP_FS, np.full((int(self.words[at.WORDS]) >> at.GROUP_SHIFT) + 1, NEVER, np.int64))

    def _lay_servers(self, machine: Machine) -> None:
        rows = np.zeros((len(machine.server_slots), at.SERVER_COLUMNS), np.int64)
        rows[:, at.SERVER_SLOTS] = machine.server_slots
        rows[:, [at.SERVER_FIRST, at.SERVER_LAST, at.SERVER_LINE]] = codes.NONE
        self.write(at.SERVERS, rows)

    @property
    def used(self) -> np.ndarray:
        """int64[word] as far as anything is laid; good until the memory grows."""
        return self.words[: self._used]

    @property
    def stations(self) -> np.ndarray:
        """int64[station, STATION_COLUMNS]"""
        return self.table(at.STATIONS, self._stations, at.STATION_COLUMNS)

    @property
    def _visits(self) -> np.ndarray:
        """int64[station, VISIT_COLUMNS] by rank."""
        return self.table(at.VISITS, self._stations, at.VISIT_COLUMNS)

    # Pools

    def grow_heap(self) -> None:
        """Room for twice the pending events, for a wake-up of every thread and the landing of every flight."""
        extra = 2 * int(self.words[at.THREAD_N]) + 2 * self._flights
        size = max(1024, 2 * int(self.words[at.HEAP_SIZE]), int(self.words[at.HEAP_SIZE]) + extra)
        self._fit(at.HEAP, size * at.HEAP_COLUMNS)
        self.words[at.HEAP_SIZE] = size

    def grow(self, status: int) -> None:
        """Enlarge the pool that the loop, by the status with which it came back, has found full."""
        {
            codes.GROW_HEAP: self.grow_heap,
            codes.GROW_JOB: self.grow_jobs,
            codes.GROW_FLIGHT: self.grow_flights,
        }[status]()

    def _chain(self, start: int, rows: int, step: int, link: int, first: int, count: int) -> None:
        """Put fresh rows into a chain of free ones, the lowest first."""
        places = start + step * np.arange(rows)
        self.words[places + link] = np.append(places[1:], self.words[first])
        self.words[first] = start
        self.words[count] += rows

    def grow_jobs(self) -> None:
        """Room for more jobs: as many again."""
        rows = max(256, int(self.words[at.JOB_FREE_N]), self._room.get(at.JOB_FREE, 0))
        start = self._take(rows * at.JOB_COLUMNS, at.JOB_COLUMNS)
        self._room[at.JOB_FREE] = self._room.get(at.JOB_FREE, 0) + rows
        self._chain(start, rows, at.JOB_COLUMNS, at.JOB_NEXT, at.JOB_FREE, at.JOB_FREE_N)

    def grow_flights(self) -> None:
        """Room for more transfers in flight: as many again. Errors: OverflowError beyond what a packed flit can name."""
        rows = max(64, self._flights)
        step = int(self.words[at.FLIGHT_WORDS])
        start = self._take(rows * step, at.FLIGHT_ALIGN)
        if self._used > _FLIGHTS_MOST_WORDS:
            raise OverflowError(f"{self._flights} transfers are in flight at once; start fewer at a time")
        self._flights += rows
        self._fit(at.BOUNDS, self._flights * at.BOUND_COLUMNS)
        self._fit(at.LANDED, self._flights)
        places = start + step * np.arange(rows)
        self.words[places + at.FLIGHT_SIZE] = step
        self.words[places + at.FLIGHT_SOURCES] = places + at.FLIGHT_HOPS + self.words[at.MAX_STEPS] * at.HOP_COLUMNS
        self.words[places + at.FLIGHT_BASE] = codes.NONE
        self._flight_blocks.append((start, rows))
        self._chain(start, rows, step, at.FLIGHT_NEXT, at.FLIGHT_FREE, at.FLIGHT_FREE_N)

    def _widen_flights(self, steps: int, stripes: int) -> None:
        """Flights from now on have room for longer routes; those without it are not used again once they have landed."""
        steps = _aligned(max(int(self.words[at.MAX_STEPS]), steps))
        stripes = max(self._stripes, stripes)
        words = at.FLIGHT_HOPS + steps * at.HOP_COLUMNS + _aligned(stripes * at.SOURCE_COLUMNS)
        if steps == self.words[at.MAX_STEPS] and stripes == self._stripes:
            return
        self.words[at.MAX_STEPS], self._stripes = steps, stripes
        self._fit(at.TERMS, 2 * steps)
        if words != self.words[at.FLIGHT_WORDS]:
            self.words[at.FLIGHT_WORDS] = words
            self.words[at.FLIGHT_FREE], self.words[at.FLIGHT_FREE_N] = codes.NONE, 0
            self.grow_flights()

    # What a program brings

    def add_threads(self, count: int) -> None:
        """Room for so many threads in all, and to wake each of them; new ones have no rows."""
        self._fit(at.THREADS, count * at.THREAD_COLUMNS)
        self.words[at.THREAD_N] = count
        if self.words[at.HEAP_SIZE] - self.words[at.HEAP_N] < count:
            self.grow_heap()

    def add_counters(self, known: int, count: int) -> None:
        """Counters from `known` on, at zero."""
        if count > known:
            rows = np.zeros((count - known, at.COUNTER_COLUMNS), np.int64)
            rows[:, at.COUNTER_WAITER] = codes.NONE
            self.write(at.COUNTERS, rows, known * at.COUNTER_COLUMNS)

    def lay_network(self, network: Network, steps: int, stripes: int, *, live: bool) -> None:
        """Steps, routes, ports and the order of visits of a network that may have gained routes.

        Ports of known (station, feeder) pairs keep their queues; flights under way learn where they stand now.
        In a live run new routes may begin anywhere, so that no station may look ahead.
        """
        from kernels_jit.entry import renew_hops

        self._widen_flights(steps, stripes)
        self._lay_steps(network.step)
        self.write(at.ROUTES, network.route)
        self._add_leases(len(network.route))
        self.words[at.WINDOW_FS] = min(network.window_fs, self._cap_fs)
        if network.order is not self._order:
            self._lay_order(network.order)
        self._lay_ports(network)
        stations, visits = self.stations, self._visits
        port_at = self.words[at.PORTS] + network.port_start * at.PORT_COLUMNS
        stations[:, at.STATION_PORT], stations[:, at.STATION_PORT_END] = port_at[:-1], port_at[1:]
        if not live or self.words[at.AHEAD_FS] > 0:
            visits[:, at.VISIT_AHEAD_FS] = 0 if live else self._look_ahead(network)[network.order]
            self.words[at.AHEAD_FS] = visits[:, at.VISIT_AHEAD_FS].max(initial=0)
        for start, rows in self._flight_blocks:
            renew_hops(self.words, start, rows)
        self.words[at.UNLAID] = NEVER

    def _lay_steps(self, step: np.ndarray) -> None:
        """New steps, and the ports of those that are there."""
        known, self._steps = self._steps, len(step) - 1
        new, ports = step[known:].copy(), slice(at.STEP_PORT, at.STEP_PORT_BEFORE + 1)
        new[:, at.STEP_STATION] *= at.STATION_COLUMNS
        new[:, at.STEP_STATION] += self.words[at.STATIONS]
        self.write(at.STEPS, new, known * at.STEP_COLUMNS)
        self.table(at.STEPS, known, at.STEP_COLUMNS)[:, ports] = step[:known, ports]

    def _add_leases(self, count: int) -> None:
        known = int(self.words[at.ROUTE_N])
        rows = np.full((count - known, at.LEASE_COLUMNS), codes.NONE, np.int64)
        rows[:, [at.LEASE_HELD, at.LEASE_PASSED]] = 0
        rows[:, at.LEASE_AHEAD] = 1
        self.write(at.LEASES, rows, known * at.LEASE_COLUMNS)
        self.words[at.ROUTE_N] = count

    def _look_ahead(self, network: Network) -> np.ndarray:
        from kernels_jit.order import look_ahead

        most = int(self.words[at.SLACK_FS])
        return look_ahead(
            network.order, network.before_start, network.before, network.latency_fs, network.sources, most
        )

    def _lay_order(self, order: np.ndarray) -> None:
        stations, visits = self.stations, self._visits
        if len(self._order) > 0:
            visits[:, at.VISIT_HEAD_FS] = visits[stations[order, at.STATION_RANK], at.VISIT_HEAD_FS]
        visits[:, at.VISIT_STATION] = self.words[at.STATIONS] + order * at.STATION_COLUMNS
        visits[:, at.VISIT_TURN_FS] = stations[order, at.STATION_TURN_FS]
        stations[order, at.STATION_RANK] = np.arange(len(order))
        self._order = order
        ranks = np.flatnonzero(visits[:, at.VISIT_HEAD_FS] < NEVER)
        pending = np.zeros(int(self.words[at.WORDS]), np.uint64)
        np.bitwise_or.at(pending, ranks >> 6, np.uint64(1) << (ranks & 63).astype(np.uint64))
        self.write(at.PENDING, pending.view(np.int64))
        self.write(at.WORD_FS, np.zeros(len(pending), np.int64))
        self.write(at.GROUP_FS, np.zeros((len(pending) >> at.GROUP_SHIFT) + 1, np.int64))

    def _lay_ports(self, network: Network) -> None:
        pairs, known = network.pairs, self._pairs
        keep = np.searchsorted(pairs, known)
        ports = np.zeros((len(pairs), at.PORT_COLUMNS), np.int64)
        ports[:, at.PORT_FS] = NEVER
        ports[keep] = self.table(at.PORTS, len(known), at.PORT_COLUMNS)
        ports[:, at.PORT_RANK] = self.stations[pairs // self._stations, at.STATION_RANK]
        self.write(at.PORTS, ports)
        self._pairs = pairs


def empty_pool(machine: Machine) -> np.ndarray:
    """int64[slot, 2]: blocks for queued flits, see `kernels_jit.state`; for two a station, which is enough for most runs."""
    blocks = max(_POOL_BLOCKS, 2 * len(machine.stations.fs_per_flit) // at.BLOCK)
    return np.empty((blocks * at.BLOCK, 2), np.int64)


def find_limits(fs_per_flit: np.ndarray) -> np.ndarray:
    """int64[point, 2]: how far one sweep goes at the most, and how far beyond its horizon a station may serve.

    `fs_per_flit`: int64[point, station].
    """
    flit_fs = np.median(fs_per_flit, axis=1).astype(np.int64)
    return flit_fs[:, None] * (_SWEEP_FLITS, _SLACK_FLITS)


def _aligned(words: int) -> int:
    """Rounded up to what flights are aligned to."""
    return -(-words // at.FLIGHT_ALIGN) * at.FLIGHT_ALIGN
