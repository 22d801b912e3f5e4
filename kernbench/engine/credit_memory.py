"""The tables of a network with credits in the loop's memory: routers, links, virtual channels and their buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.limits.memory_budget import check_fits
from kernbench.machine.flow_control import Allocator, Reuse
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from kernels_jit.layout.records import NEVER, word_of, words_of

if TYPE_CHECKING:
    from kernbench.engine.memory import Memory
    from kernbench.machine.flow_control import FlowControl
    from kernbench.machine.machine import Machine

_ALLOCATORS = {Allocator.ROUND_ROBIN: codes.ROUND_ROBIN, Allocator.ISLIP: codes.ISLIP, Allocator.AGE: codes.AGE}
_LABELS = 2 * r.PORTS_MOST * r.PORTS_MOST  # words for the bids of a router


class CreditTables:
    """Writes the tables, and the links and virtual channels of steps."""

    def __init__(self, memory: Memory, machine: Machine, control: FlowControl) -> None:
        self._memory, self._machine, self._control = memory, machine, control
        memory["credit"] = memory.take(words_of(r.CREDIT))
        self._routers = np.flatnonzero(np.array(machine.node_kind) == "router")
        self._write_settings()
        self._write_routers()
        self._write_links()
        self._write_channels()

    def __getitem__(self, field: str) -> int:
        return self._memory.words.item(self._memory["credit"] + word_of(r.CREDIT, field))

    def __setitem__(self, field: str, value: int) -> None:
        self._memory.words[self._memory["credit"] + word_of(r.CREDIT, field)] = value

    def link_of(self, station: np.ndarray) -> np.ndarray:
        """int64[] the places of the links of some stations."""
        return self["links"] + words_of(r.LINK) * station

    def channels_of(self, side: np.ndarray) -> np.ndarray:
        """int64[] the virtual channels that may be taken on some sides of a dateline, as bits."""
        bits = [sum(1 << index for index in self._control.channels_of(side)) for side in range(3)]
        return np.array(bits, np.uint64).view(np.int64)[side]

    @property
    def channels(self) -> np.ndarray:
        """CHANNEL[link * virtual channels + channel] view; valid until the memory grows."""
        first = int(self._memory.rows(self["links"], r.LINK, 1)["channels"][0])
        return self._memory.rows(first, r.CHANNEL, self["link_n"] * self["channels"])

    def _cycles(self, fs: np.ndarray | int) -> np.ndarray:
        """Times in cycles, rounded up, at least one."""
        return np.maximum(1, -(-np.asarray(fs) // self._control.cycle_fs))

    def _write_settings(self) -> None:
        control = self._control
        for field in ("cycle_fs", "buffer_flits", "packet_flits", "speculative", "input_speedup"):
            self[field] = int(getattr(control, field))
        self["channels"] = control.virtual_channels
        self["iterations"] = control.allocator_iterations
        self["outstanding"] = control.outstanding_packets
        self["allocator"] = _ALLOCATORS[Allocator(control.allocator)]
        self["tail_credit"] = int(control.reuse == Reuse.TAIL_CREDIT)
        self["is_queued"] = int(control.internal_speedup > 1)
        self["routing"] = -(-control.routing_fs // control.cycle_fs)
        self["vc_allocation"] = int(self._cycles(control.vc_allocation_fs))
        self["next"] = NEVER

    def _write_routers(self) -> None:
        machine, speedup = self._machine, self._control.input_speedup
        self["router_n"], self["link_n"] = len(self._routers), machine.edge_count
        self["routers"] = self._memory.take(len(self._routers) * words_of(r.ROUTER))
        self["links"] = self._memory.take(machine.edge_count * words_of(r.LINK), 8)
        self["asks"] = self._memory.take(r.PORTS_MOST * r.PORTS_MOST * words_of(r.ASK))
        self["bids"] = self._memory.take(r.PORTS_MOST + _LABELS)
        self["matches"] = self._memory.take(r.PORTS_MOST)
        actors = len(self._routers) + machine.edge_count
        self["wakes"] = self._memory.take(actors)
        self._memory.words[self["wakes"] : self["wakes"] + actors] = NEVER
        self["words"] = (actors + 63) // 64
        self["pending"] = self._memory.take(self["words"])
        order = np.lexsort((machine.edge_port, machine.edge_src))  # edges by router and port
        start = np.searchsorted(machine.edge_src[order], self._routers)
        end = np.searchsorted(machine.edge_src[order], self._routers, side="right")
        outputs, inputs = (self._memory.take(machine.edge_count) for _ in range(2))
        self._memory.words[outputs : outputs + machine.edge_count] = self.link_of(order)
        self._memory.words[inputs : inputs + machine.edge_count] = self.link_of(order ^ 1)
        rows = self._memory.rows(self["routers"], r.ROUTER, len(self._routers))
        rows["outputs"], rows["inputs"], rows["ports"] = outputs + start, inputs + start, end - start
        pointers = self._memory.take(2 * speedup * machine.edge_count)
        self._memory.words[pointers + 1 : pointers + 2 * speedup * machine.edge_count : 2] = np.tile(
            np.arange(speedup), machine.edge_count
        )
        self._inputs = pointers + 2 * speedup * np.arange(machine.edge_count)

    def _write_links(self) -> None:
        machine, control = self._machine, self._control
        edges, cycle_fs = np.arange(machine.edge_count), control.cycle_fs
        full, wire = machine.stations.fs_per_flit[edges], machine.stations.propagation_fs[edges]
        back = wire[edges ^ 1]
        router_of = np.full(machine.node_count, codes.NONE)
        router_of[self._routers] = np.arange(len(self._routers))
        receiver, sender = router_of[machine.edge_dst], router_of[machine.edge_src]
        overhead = np.where(receiver == codes.NONE, 0, machine.node_overhead_fs[machine.edge_dst])
        processing = np.where(sender == codes.NONE, 0, control.credit_fs)
        rows = self._memory.rows(self["links"], r.LINK, machine.edge_count)
        rows["full_fs"], rows["port"], rows["inputs"] = full, machine.edge_port, self._inputs
        rows["station"] = self._memory["stations"] + words_of(r.STATION) * edges
        rows["receiver"], rows["overhead_fs"] = receiver, overhead
        rows["crossing_fs"] = control.switch_allocation_fs + np.maximum(control.traversal_fs, full) + wire
        rows["sending_fs"] = full + wire
        rows["credit_fs"] = full + back + processing
        rows["returning"] = self._cycles(control.switch_allocation_fs + back + processing)
        even = full % cycle_fs == 0
        for field in ("crossing", "sending"):
            rows[field] = np.where(even, self._cycles(rows[f"{field}_fs"] + overhead), 0)
        for field in ("first", "last", "taken", "taken_last"):
            rows[field] = codes.NONE
        if control.internal_speedup > 1:
            rows["crossing"] = 0
        if control.outstanding_packets:
            returns = self._memory.take(control.outstanding_packets * machine.edge_count)
            rows = self._memory.rows(self["links"], r.LINK, machine.edge_count)
            rows["returns"] = returns + control.outstanding_packets * edges
        ways = [rows["crossing_fs"] + overhead, rows["crossing_fs"], rows["sending_fs"]]
        seen = [*(self._cycles(way) for way in ways), rows["returning"]]
        self["window"] = int(np.min(seen))
        furthest = max(int(way.max(initial=0)) for way in ways) + int(rows["credit_fs"].max(initial=0))
        waiting = control.virtual_channels * control.buffer_flits * int(full.max(initial=0))  # behind a fast switch
        longest = furthest + waiting + control.routing_fs + control.vc_allocation_fs
        self["patience"] = int(self._cycles(longest)) + 2 * self["window"]

    def _write_channels(self) -> None:
        control, links = self._control, self._machine.edge_count
        each, depth = control.virtual_channels, control.buffer_flits
        count = links * each
        words = words_of(r.CHANNEL) + depth * (words_of(r.BUFFERED) + 1)
        what = f"the buffers of {links:,} links with {each} virtual channels of {depth:,} flits"
        check_fits(r.WORD * words * count, what, "make virtual_channels, buffer_flits or the machine smaller")
        channels = self._memory.take(count * words_of(r.CHANNEL), 8)
        buffers = self._memory.take(count * depth * words_of(r.BUFFERED))
        returns = self._memory.take(count * depth)
        rows = self._memory.rows(channels, r.CHANNEL, count)
        number = np.arange(count)
        rows["credits"], rows["index"] = depth, number % each
        rows["returns"], rows["buffer"] = returns + depth * number, buffers + depth * words_of(r.BUFFERED) * number
        rows["onward"] = rows["given"] = codes.NONE
        places = channels + each * words_of(r.CHANNEL) * np.arange(links)
        self._memory.rows(self["links"], r.LINK, links)["channels"] = places
