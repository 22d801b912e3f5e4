"""The loop's memory: one int64 array, laid out and enlarged here, read and written by the compiled code.

Sizes start small and double: a run holds what is in flight, whatever the length of the program. A region that must grow
is copied to the end of the array; rows that others point at (jobs, transfers, stations) never move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.engine.credit_memory import CreditTables
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from kernels_jit.layout.records import NEVER, word_of, words_of

if TYPE_CHECKING:
    from kernbench.engine.network import Network
    from kernbench.machine.machine import Machine

_LINE = 16  # words; lines of 8 come in pairs


def aligned_zeros(count: int) -> np.ndarray:
    """int64[count] zeros. As with `np.zeros`, memory is not touched until it is written."""
    room = np.zeros(count + _LINE, np.int64)
    first = -(room.ctypes.data // room.itemsize) % _LINE
    return room[first : first + count]


_TRANSFERS_MOST_WORDS = words_of(r.HOP) << (63 - r.FLIT_SHIFT)  # what a packed flit can point at
_PASS_FLITS = 1024  # flits of the median link in the longest pass; more would stand in queues for longer
_SLACK_FLITS = 1 << 16  # limit of service beyond the horizon: a megabyte for each queue whose source is too fast
_POOL_BLOCKS = 128  # of the smallest pool
_JOBS, _TRANSFERS, _EVENTS = 256, 64, 1024  # of the smallest pools


_STATE_WORDS = words_of(r.STATE)
_WORD = {name: word_of(r.STATE, name) for name in r.STATE.names or ()}


class Memory:
    """The words of a run and the places of its tables. `words` is int64[word]; it is replaced when it grows.

    `memory["now_fs"]` reads and writes a field of the state record by name, the place of a table among them.
    """

    def __init__(self, machine: Machine, *, hybrid: bool, count_waits: bool = False) -> None:
        self.words = aligned_zeros(1 << 16)
        self._used = _STATE_WORDS
        self._room: dict[str, int] = {}  # words of the region of each table
        self._stations = len(machine.stations.fs_per_flit)
        self._transfers = 0
        self._transfer_blocks: list[tuple[int, int]] = []  # place of the first transfer of each, number of transfers
        self._stripes = 0
        self._steps = 0  # of the routes in the memory
        self._order = np.zeros(0, np.int64)  # stations in the order of visits
        self._pairs = np.zeros(0, np.int64)  # (station, feeder) of each port, packed
        self["hybrid"] = int(hybrid)
        self["flit_bytes"] = machine.flit_bytes
        self["packet_flits"] = machine.packet_flits or 0
        self["transfer_words"] = words_of(r.TRANSFER)  # of a program without transfers
        for field in ("resume", "asking", "job_free", "transfer_free", "block_free", "pass_fs"):
            self[field] = codes.NONE
        self["pending_row"] = NEVER
        self._starts = 2 + int(max(machine.server_slots, default=0))  # transfers that one event starts at most
        self["margin"] = self._margin(1)
        limits = find_limits(machine.stations.fs_per_flit[None])
        self._cap_fs, self["slack_fs"] = limits[0].tolist()
        self._write_stations(machine)
        self._write_servers(machine)
        self["credit"] = codes.NONE
        control = machine.flow_control
        self.credit = CreditTables(self, machine, control, count_waits=count_waits) if control else None
        self.grow_heap()
        self.grow_jobs()

    def _margin(self, branches: int) -> int:
        """The free rows that a pool needs for the most branches of a transfer: each is one, with two events."""
        return 6 + r.CHAIN_MOST + self._starts * (2 * branches - 1)

    def __getitem__(self, field: str) -> int:
        return self.words.item(_WORD[field])

    def __setitem__(self, field: str, value: int) -> None:
        self.words[_WORD[field]] = value

    # Regions

    def take(self, words: int, align: int = 1) -> int:
        """Allocate a region of zeros at the end of the used words; returns its start."""
        start = -(-self._used // align) * align
        end = start + words
        if end > len(self.words):
            bigger = aligned_zeros(end + len(self.words))  # a large table is seldom the last
            bigger[: self._used] = self.words[: self._used]
            self.words = bigger
        self._used = end
        return start

    def _fit(self, table: str, words: int) -> np.ndarray:
        """The region of a table, with room for `words`; its contents are kept."""
        room = self._room.get(table, 0)
        if words > room:
            start = self.take(max(words, 2 * room), words_of(r.PORT))
            old = self[table]
            self.words[start : start + room] = self.words[old : old + room]
            self[table] = start
            self._room[table] = max(words, 2 * room)
        start = self[table]
        return self.words[start : start + self._room.get(table, 0)]

    def rows(self, place: int, kind: np.dtype, count: int) -> np.ndarray:
        """kind[count] view of the records from a place on; valid until the memory grows."""
        return self.words[place : place + count * words_of(kind)].view(kind)

    def table(self, table: str, kind: np.dtype, rows: int) -> np.ndarray:
        """kind[rows] view of a table; valid until the memory grows."""
        return self.rows(self[table], kind, rows)

    def write(self, table: str, values: np.ndarray, start: int = 0) -> None:
        """Write records or words into a table, from one of its words on."""
        flat = np.ascontiguousarray(values).view(np.int64).reshape(-1)
        self._fit(table, start + len(flat))[start : start + len(flat)] = flat

    @property
    def has_flits(self) -> bool:
        """Whether flits wait, at stations or for a cycle of a network with credits."""
        if self.credit:
            return self.credit["next"] < NEVER
        ports = self.table("ports", r.PORT, len(self._pairs))
        return bool((ports["fs"] != NEVER).any() or (self.stations["source"] != codes.NONE).any())

    # Tables of the machine

    def _write_stations(self, machine: Machine) -> None:
        rows = np.zeros(self._stations, r.STATION)
        rows["full_fs"], rows["quantum"], rows["turn_fs"], rows["propagation_fs"] = machine.stations
        for field in ("source", "source_last", "direction", "reserved"):
            rows[field] = codes.NONE
        self.write("stations", rows)
        if machine.packet_flits:
            self.write("packets", np.full(self._stations, codes.NONE))
        words = (self._stations + 63) // 64
        self["words"] = words
        self["due_fs"] = NEVER
        self._fit("pending", words)
        visits = np.zeros(64 * words, r.VISIT)
        visits["head_fs"] = NEVER
        self.write("visits", visits)
        self.write("word_fs", np.full(words, NEVER, np.int64))
        self.write("group_fs", np.full((words >> r.GROUP_SHIFT) + 1, NEVER, np.int64))

    def _write_servers(self, machine: Machine) -> None:
        rows = np.zeros(len(machine.server_slots), r.SERVER)
        rows["slots"] = machine.server_slots
        rows["first"] = rows["last"] = rows["chain"] = codes.NONE
        self.write("servers", rows)

    @property
    def used(self) -> np.ndarray:
        """int64[word] the used words; valid until the memory grows."""
        return self.words[: self._used]

    @property
    def stations(self) -> np.ndarray:
        """STATION[station]"""
        return self.table("stations", r.STATION, self._stations)

    @property
    def _visits(self) -> np.ndarray:
        """VISIT[station] by rank."""
        return self.table("visits", r.VISIT, self._stations)

    # Pools

    def grow_heap(self) -> None:
        """Double the room for pending events; at least a wake-up of every thread and the delivery of every transfer."""
        extra = 2 * self["thread_n"] + 2 * self._transfers
        size = max(_EVENTS, 2 * self["heap_size"], self["heap_size"] + extra)
        self._fit("heap", size * words_of(r.EVENT))
        self["heap_size"] = size

    def grow(self, status: int) -> None:
        """Enlarge the pool that was full, by the status of the loop."""
        {
            codes.GROW_HEAP: self.grow_heap,
            codes.GROW_JOBS: self.grow_jobs,
            codes.GROW_TRANSFERS: self.grow_transfers,
        }[status]()

    def _chain(self, kind: np.dtype, places: np.ndarray, first: str, count: str) -> None:
        """Put new rows into a free list, the lowest first."""
        self.words[places + word_of(kind, "next")] = np.append(places[1:], self[first])
        self[first] = int(places[0])
        self[count] += len(places)

    def grow_jobs(self) -> None:
        """Double the room for jobs."""
        rows = max(_JOBS, self["job_free_n"], self._room.get("jobs", 0))
        step = words_of(r.JOB)
        start = self.take(rows * step, step)
        self._room["jobs"] = self._room.get("jobs", 0) + rows
        self._chain(r.JOB, start + step * np.arange(rows), "job_free", "job_free_n")

    def grow_transfers(self) -> None:
        """Double the room for transfers in flight. Errors: OverflowError beyond what a packed flit can name."""
        rows, step = max(_TRANSFERS, self._transfers), self["transfer_words"]
        start = self.take(rows * step, r.TRANSFER_ALIGN)
        if self._used > _TRANSFERS_MOST_WORDS:
            raise OverflowError(f"{self._transfers} transfers are in flight at once; start fewer at a time")
        self._transfers += rows
        self._fit("bounds", self._transfers * words_of(r.BOUND))
        self._fit("landed", self._transfers)
        places = start + step * np.arange(rows)
        sources = places + words_of(r.TRANSFER) + self["max_steps"] * words_of(r.HOP)
        for field, values in (("words", step), ("sources", sources), ("from_step", codes.NONE)):
            self.words[places + word_of(r.TRANSFER, field)] = values
        self._transfer_blocks.append((start, rows))
        self._chain(r.TRANSFER, places, "transfer_free", "transfer_free_n")

    def _widen_transfers(self, steps: int, stripes: int) -> None:
        """Make room for longer routes in new transfers; records without it are not reused after delivery."""
        steps = _aligned(max(self["max_steps"], steps))
        stripes = max(self._stripes, stripes)
        words = words_of(r.TRANSFER)
        if not self.credit:  # networks with credits use neither hops nor sources
            words += steps * words_of(r.HOP) + _aligned(stripes * words_of(r.SOURCE))
        if steps == self["max_steps"] and stripes == self._stripes:
            return
        self["max_steps"], self._stripes = steps, stripes
        self._fit("terms", 2 * steps)
        if words != self["transfer_words"]:
            self["transfer_words"] = words
            self["transfer_free"], self["transfer_free_n"] = codes.NONE, 0
            self.grow_transfers()

    # Tables of the program

    def add_threads(self, count: int) -> None:
        """Room for `count` threads in all, and for the wake-up of each; new ones have no rows."""
        self._fit("threads", count * words_of(r.THREAD))
        self["thread_n"] = count
        if self["heap_size"] - self["heap_n"] < count:
            self.grow_heap()

    def add_counters(self, known: int, count: int) -> None:
        """Add counters from `known` on, at zero."""
        if count > known:
            rows = np.zeros(count - known, r.COUNTER)
            rows["waiter"] = codes.NONE
            self.write("counters", rows, known * words_of(r.COUNTER))

    def write_network(self, network: Network, steps: int, stripes: int, *, live: bool) -> None:
        """Write steps, routes, ports and the visit order of a network that may have gained routes.

        Ports of known (station, feeder) pairs keep their queues; transfers in flight get their new places.
        In a live run new routes may begin anywhere, so no station may look ahead.
        """
        from kernels_jit.flits.hops import renew_hops

        self._widen_transfers(steps, stripes)
        self._write_steps(network)
        self.write("routes", network.route)
        self["margin"] = self._margin(int(network.route["branches"].max(initial=1)))
        self._add_reservations(len(network.route))
        self["window_fs"] = min(network.window_fs, self._cap_fs)
        if network.order is not self._order:
            self._write_order(network.order)
        self._write_ports(network)
        port_at = self["ports"] + network.port_start * words_of(r.PORT)
        self.stations["port"], self.stations["port_end"] = port_at[:-1], port_at[1:]
        if not live or self["ahead_fs"] > 0:
            self._visits["ahead_fs"] = 0 if live else self._look_ahead(network)[network.order]
            self["ahead_fs"] = int(self._visits["ahead_fs"].max(initial=0))
        if not self.credit:
            for start, rows in self._transfer_blocks:
                renew_hops(self.words, start, rows)
        self["pending_row"] = NEVER

    def _write_steps(self, network: Network) -> None:
        """Write new steps, and the ports of the known ones."""
        step, known = network.step, self._steps
        self._steps = len(step) - 1
        new = step[known:].copy()
        if self.credit:
            hop_codes = self.credit.lay(network.route, step, known)
            end = known + len(hop_codes)
            self._fit("hop_codes", (end + 1) // 2).view(np.uint32)[known:end] = hop_codes
        new["station"] = self["stations"] + words_of(r.STATION) * new["station"]
        self.write("steps", new, known * words_of(r.STEP))
        there = self.table("steps", r.STEP, known)
        for field in ("port", "ports_per_stripe"):
            there[field] = step[field][:known]

    def _add_reservations(self, count: int) -> None:
        known = self["route_n"]
        rows = np.zeros(count - known, r.RESERVATION)
        rows["transfer"] = rows["flits"] = codes.NONE
        rows["ahead"] = 1
        self.write("reservations", rows, known * words_of(r.RESERVATION))
        self["route_n"] = count

    def _look_ahead(self, network: Network) -> np.ndarray:
        from kernels_jit.loop.visit_order import look_ahead

        edges = network.before_start, network.before, network.latency_fs
        ahead = np.empty(len(network.order), np.int64)
        look_ahead(network.order, *edges, network.sources, self["slack_fs"], ahead)
        return ahead

    def _write_order(self, order: np.ndarray) -> None:
        stations, visits = self.stations, self._visits
        if len(self._order) > 0:
            visits["head_fs"] = visits["head_fs"][stations["rank"][order]]
        visits["station"] = self["stations"] + order * words_of(r.STATION)
        visits["turn_fs"] = stations["turn_fs"][order]
        stations["rank"][order] = np.arange(len(order))
        self._order = order
        ranks = np.flatnonzero(visits["head_fs"] < NEVER)
        pending = np.zeros(self["words"], np.uint64)
        np.bitwise_or.at(pending, ranks >> 6, np.uint64(1) << (ranks & 63).astype(np.uint64))
        self.write("pending", pending.view(np.int64))
        self.write("word_fs", np.zeros(len(pending), np.int64))
        self.write("group_fs", np.zeros((len(pending) >> r.GROUP_SHIFT) + 1, np.int64))

    def _write_ports(self, network: Network) -> None:
        pairs, known = network.pairs, self._pairs
        keep = np.searchsorted(pairs, known)
        ports = np.zeros(len(pairs), r.PORT)
        ports["fs"] = NEVER
        ports[keep] = self.table("ports", r.PORT, len(known))
        ports["rank"] = self.stations["rank"][pairs // self._stations]
        self.write("ports", ports)
        self._pairs = pairs


def empty_pool(machine: Machine) -> np.ndarray:
    """int64[slot, 2]: blocks for queued flits (`kernels_jit.layout.records`), two a station: enough for most runs."""
    blocks = max(_POOL_BLOCKS, 2 * len(machine.stations.fs_per_flit) // r.BLOCK)
    return np.empty((blocks * r.BLOCK, 2), np.int64)


def enlarged_pool(pool: np.ndarray) -> np.ndarray:
    """A pool of twice the slots, with the same contents."""
    more = np.empty((2 * len(pool), 2), np.int64)
    more[: len(pool)] = pool
    return more


def find_limits(fs_per_flit: np.ndarray) -> np.ndarray:
    """int64[point, 2]: the longest pass, and the limit of service beyond the horizon of a station.

    `fs_per_flit`: int64[point, station].
    """
    flit_fs = np.median(fs_per_flit, axis=1).astype(np.int64)
    return np.minimum(flit_fs[:, None], NEVER // (4 * max(1, _SLACK_FLITS))) * (_PASS_FLITS, _SLACK_FLITS)


def _aligned(words: int) -> int:
    """Rounded up to the alignment of transfers."""
    return -(-words // r.TRANSFER_ALIGN) * r.TRANSFER_ALIGN
