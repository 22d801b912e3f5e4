"""The tables of a network with credits in the loop's memory: routers, memories, links, virtual channels and their buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.arrays import unique_small
from kernbench.engine.credit_layout import CreditLayout, list_begins, list_ends, number_vcs
from kernbench.engine.credit_levels import find_levels, second_cache_bytes
from kernbench.engine.credit_window import CreditWindow
from kernbench.errors import LimitError
from kernbench.limits.memory_budget import check_fits
from kernbench.machine.network.flow_control import Allocator, Reuse
from kernbench.units import format_bytes
from kernels_jit.compile.bits import GROUP
from kernels_jit.compile.jit import CHECKED
from kernels_jit.compile.prefetch import LINE
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from kernels_jit.layout.records import NEVER, word_of, words_of

if TYPE_CHECKING:
    from kernbench.engine.memory import Memory
    from kernbench.machine.machine import Machine
    from kernbench.machine.network.flow_control import FlowControl

_ALLOCATORS = {Allocator.ROUND_ROBIN: codes.ROUND_ROBIN, Allocator.ISLIP: codes.ISLIP, Allocator.AGE: codes.AGE}
_TOGETHER_LEAST, _TOGETHER_MOST = 2, 8  # windows
_WINDOW = 64  # cycles of the longest: the loop comes back between two of them
_REQUEST_WORDS = 2 * r.PORTS_MOST * r.PORTS_MOST  # of the places and ranks of a router's requests


class CreditTables:
    """Writes the tables, and the links and virtual channels of steps."""

    def __init__(self, memory: Memory, machine: Machine, control: FlowControl, *, count_waits: bool = False) -> None:
        self._memory, self._machine, self._control = memory, machine, control
        memory["credit"] = memory.take(words_of(r.CREDIT))
        self._layout = CreditLayout(machine, control)
        self._sets = dict[int, int]()  # the number of each set of virtual channels, as bits
        self._write_settings()
        self._write_places()
        self._write_visible_at()
        self._write_ports(self["routers"], r.ROUTER, self._layout.routers)
        self._write_ports(self["memories"], r.CREDIT_MEMORY, self._layout.memories)
        self._write_routers()
        self._write_memories()
        self._write_links()
        self._write_inputs()
        # Of the virtual channels of links; 0: no route has come to their node.
        self._places = np.zeros(machine.edge_count, np.int64)
        self._window = CreditWindow(machine, control, self._layout, self._returning)
        longest = self._window.longest(self._links)
        self["window"], self["patience"] = min(longest, _WINDOW), longest + 2 * longest  # two windows more
        cache_bytes, state_bytes = second_cache_bytes(), self._state_bytes()
        self["is_large"] = int(state_bytes > cache_bytes)
        self["is_noted"] = int(self["is_large"] or CHECKED)
        self._write_levels(cache_bytes, state_bytes)
        self["waits"] = self["fronts"] = codes.NONE
        if count_waits:
            self["waits"] = memory.take(machine.edge_count * words_of(r.WAITS))
            routers = self._router_rows
            most = (routers["input_vc_n"] * routers["ports"]).max(
                initial=0
            )  # a packet has a copy for each port at most
            self["fronts"] = memory.take(int(most) * words_of(r.FRONT))

    def __getitem__(self, field: str) -> int:
        return self._memory.words.item(self._memory["credit"] + word_of(r.CREDIT, field))

    def __setitem__(self, field: str, value: int) -> None:
        self._memory.words[self._memory["credit"] + word_of(r.CREDIT, field)] = value

    def lay(self, route: np.ndarray, step: np.ndarray, known: int) -> np.ndarray:
        """uint32[step] the hop codes of new steps. Makes their virtual channels and may shorten the window. Errors: LimitError.

        `route`: ROUTE[route]; `step`: STEP[step] with stations by number and kinds of channels, the new ones from `known` on.
        """
        whole, new = step["store_and_forward"], step[known:]
        ends, forks = list_ends(route, whole)
        begins = list_begins(route, whole, step["station"] >= self._machine.edge_count)
        self._make_vcs(new["station"][:-1])
        taken = new["station"][:-1], begins[known:-1], ends[known:-1]
        self["window"] = self._window.narrow(self["window"], self._links, *taken)
        self._make_copies(step["station"][forks])
        station, is_link = new["station"], new["station"] < self._machine.edge_count
        self._note_order(station[ends[known:] & is_link])
        memory = self._layout.memory_at[np.where(is_link, 0, station)]
        hop_codes = np.where(is_link, station, memory).astype(np.uint32) << r.HOP_CODE_SHIFT
        hop_codes |= self._sets_of(station, new["channels"], is_link) << r.VC_SET_SHIFT
        hop_codes[ends[known:] & is_link] |= r.HOP_CODE_ENDS
        branches = route["start"][route["branches"] == 0]
        hop_codes[branches[(branches >= known) & (whole[branches] == 0)] - known] |= r.HOP_CODE_BRANCHES
        return hop_codes

    def _note_order(self, links: np.ndarray) -> None:
        """Note whether flits end at any of some links from whose buffers others go on."""
        if (self._links["receiver"][links] != codes.NONE).any():
            self["is_shuffled"] = 1

    def _sets_of(self, station: np.ndarray, kind: np.ndarray, is_link: np.ndarray) -> np.ndarray:
        """uint32[step] the number of the set of virtual channels of some kinds at some links; 0 for memories."""
        count = self._layout.vc_n[np.where(is_link, station, 0)]
        key = np.where(is_link, 1 + kind * (r.PORTS_MOST + 1) + count, 0)
        sets = np.zeros(int(key.max(initial=0)) + 1, np.uint32)
        for one in np.flatnonzero(np.bincount(key)[1:]).tolist():
            channels = self._control.channels_of(*divmod(one, r.PORTS_MOST + 1))
            sets[1 + one] = self._number_of_set(sum(1 << index for index in channels))
        return sets[key]

    def _number_of_set(self, bits: int) -> int:
        """The number of a set of virtual channels, given as bits. Errors: LimitError."""
        number = self._sets.setdefault(bits, len(self._sets) + 1)
        if number == r.SETS_MOST:
            raise LimitError(
                f"packets of this machine may take more than {number - 1} different sets of virtual channels, which is as much "
                "as one run can have; give more classes of ports the same virtual_channels"
            )
        self._memory.words[self["vc_sets"] + number] = np.array(bits, np.uint64).view(np.int64)
        return number

    @property
    def waits(self) -> np.ndarray | None:
        """WAITS[link] view of what flits waited for; None if it is not counted."""
        place = self["waits"]
        return None if place == codes.NONE else self._memory.rows(place, r.WAITS, self._machine.edge_count)

    @property
    def input_vcs(self) -> np.ndarray:
        """INPUT_VC[vc] copy of those of each link to nodes that routes have come to, in turn."""
        views = [
            self._memory.rows(int(self._places[at]), r.INPUT_VC, int(self._layout.vc_n[at])) for at in self._used()
        ]
        return np.concatenate([np.zeros(0, r.INPUT_VC), *views])

    @property
    def output_vcs(self) -> np.ndarray:
        """OUTPUT_VC[vc] copy of the other ends of `input_vcs`."""
        return self._all_output_vcs[self._layout.first_output_vc[self.link_of_vc] + self.input_vcs["index"]]

    @property
    def _all_output_vcs(self) -> np.ndarray:
        """OUTPUT_VC[] view of those of all links, by node and port."""
        return self._memory.rows(self._output_vc_rows, r.OUTPUT_VC, int(self._layout.vc_n.sum()))

    @property
    def buffers(self) -> np.ndarray:
        """int64[vc, 2] the place of the slots of each of `input_vcs`, and their number."""
        links = self._links[self.link_of_vc]
        places = links["buffers"] + links["buffer_words"] * self.input_vcs["index"]
        return np.stack([places, links["buffer_words"] // words_of(r.BUFFERED)], axis=1).astype(np.int64)

    @property
    def held(self) -> np.ndarray:
        """int64[vc] the flits in the buffers of `input_vcs`."""
        slots = [self._memory.rows(place, r.BUFFERED, depth) for place, depth in self.buffers.tolist()]
        return np.array([np.count_nonzero(each["flit"] != codes.NONE) for each in slots], np.int64)

    @property
    def link_of_vc(self) -> np.ndarray:
        """int64[vc] the link of each of `input_vcs`."""
        return np.repeat(self._used(), self._layout.vc_n[self._used()])

    def _make_vcs(self, station: np.ndarray) -> None:
        """Make the virtual channels of nodes that links among some stations lead to, and their buffers. Errors: LimitError."""
        layout = self._layout
        dst, links = self._machine.edge_dst, unique_small(station[station < self._machine.edge_count])
        nodes = unique_small(dst[links[self._places[links] == 0]])
        if len(nodes) == 0:
            return
        order = np.lexsort((layout.first_input_vc, dst))  # edges by node and port
        links = order[np.isin(dst[order], nodes)]
        count = layout.vc_n[links]
        depth = np.repeat(layout.depth[links], count)
        words = words_of(r.INPUT_VC) * len(depth) + words_of(r.BUFFERED) * int(depth.sum())
        what = (
            f"the buffers of {len(count):,} links with up to {count.max():,} virtual channels of {depth.max():,} flits"
        )
        check_fits(r.WORD * words, what, "make virtual_channels, buffer_flits or the machine smaller")
        each = words_of(r.BUFFERED) * depth
        vcs, buffers = self._take(words_of(r.INPUT_VC) * len(depth), 8), self._take(int(each.sum()), 8)
        self._memory.rows(buffers, r.BUFFERED, int(depth.sum()))["flit"] = codes.NONE
        rows, first = self._memory.rows(vcs, r.INPUT_VC, len(depth)), np.cumsum(count) - count
        rows["index"] = np.arange(len(depth)) - np.repeat(first, count)
        rows["front"] = buffers + np.cumsum(each) - each
        rows["out_link"] = rows["out_vc"] = codes.NONE
        edge = np.repeat(links, count)
        rows["input"] = self._inputs[edge] + words_of(r.INPUT) * (rows["index"] % self._control.input_speedup)
        self._places[links] = vcs + words_of(r.INPUT_VC) * first
        self._write_input_vcs(nodes, self._places[links[np.searchsorted(dst[links], nodes)]])
        table = self._links
        table["input_vcs"] = self._places
        table["buffers"][links] = rows["front"][first]
        self._all_inputs["buffers"][self._inputs_of(links)] = rows["front"][first][:, None]
        self._all_output_vcs["back"][layout.first_output_vc[edge] + rows["index"]] = rows["front"]

    def _write_input_vcs(self, nodes: np.ndarray, places: np.ndarray) -> None:
        """Write the place of the first input VC of each of some nodes."""
        for field, kind, numbers in (
            ("routers", r.ROUTER, self._layout.router_of),
            ("memories", r.CREDIT_MEMORY, self._layout.memory_of),
        ):
            number = numbers[nodes]
            rows = self._memory.rows(self[field], kind, int(numbers.max(initial=-1)) + 1)
            rows["input_vcs"][number[number != codes.NONE]] = places[number != codes.NONE]

    def _make_copies(self, station: np.ndarray) -> None:
        """Make room for copies of the packets that come over some links and fork behind them. Errors: LimitError."""
        links, words = unique_small(station), words_of(r.COPY)
        table = self._links
        for link in links[table["copies"][links] == 0].tolist():
            each, count = int(self._layout.fan_out[self._machine.edge_dst[link]]), int(self._layout.vc_n[link])
            check_fits(
                r.WORD * each * count * words,
                f"the copies of packets behind {self._machine.station_name[link]}",
                "make virtual_channels or the machine smaller",
            )
            place = self._take(each * count * words, 8)
            rows, at = self._memory.rows(place, r.COPY, each * count), np.repeat(np.arange(count), each)
            vcs = self._memory.rows(int(self._places[link]), r.INPUT_VC, count)
            rows["vc"], rows["input"] = at, vcs["input"][at]
            rows["input_vc"] = self._places[link] + words_of(r.INPUT_VC) * at
            self._links["copies"][link] = place

    @property
    def _router_rows(self) -> np.ndarray:
        """ROUTER[router] view."""
        return self._memory.rows(self["routers"], r.ROUTER, len(self._layout.routers))

    @property
    def _links(self) -> np.ndarray:
        """LINK[link] view."""
        return self._memory.rows(self["links"], r.LINK, self._machine.edge_count)

    @property
    def _all_inputs(self) -> np.ndarray:
        """INPUT[] view of those of all links."""
        return self._memory.rows(self["inputs"], r.INPUT, len(self._layout.vc_n) * self._control.input_speedup)

    def _inputs_of(self, links: np.ndarray) -> np.ndarray:
        """int64[link, input] the numbers of the inputs of the switch behind some links."""
        first = (self._inputs[links] - self["inputs"]) // words_of(r.INPUT)
        return first[:, None] + np.arange(self._control.input_speedup)

    def _take(self, words: int, align: int = 1) -> int:
        """Room for tables that others point at in half a word. Errors: LimitError if it is beyond what that can name."""
        place = self._memory.take(words, align)
        if place + words > r.PLACES_MOST:
            most = format_bytes(r.WORD * r.PLACES_MOST)
            raise LimitError(
                f"the routers and buffers of this machine take more than {most}, which is as much as one run can have; "
                "make virtual_channels, buffer_flits or the machine smaller"
            )
        return place

    def _used(self) -> np.ndarray:
        """int64[] the links that have virtual channels."""
        return np.flatnonzero(self._places)

    def _write_settings(self) -> None:
        control = self._control
        for field in ("packet_flits", "speculative", "input_speedup", "queue_flits", "reply_packets"):
            self[field] = int(getattr(control, field))
        self["cycle_fs"] = self._layout.cycle_fs
        self["iterations"] = control.allocator_iterations
        self["outstanding"] = control.outstanding_packets
        self["allocator"] = _ALLOCATORS[Allocator(control.allocator)]
        self["tail_credit"] = int(control.reuse == Reuse.TAIL_CREDIT)
        self["is_queued"] = int(control.internal_speedup > 1)
        self["next"] = NEVER

    def _write_places(self) -> None:
        """Take room for routers, memories, links, actors and scratch."""
        layout = self._layout
        links, take = self._machine.edge_count, self._take
        self["router_n"], self["memory_n"], self["link_n"] = len(layout.routers), len(layout.memories), links
        if links > r.LINKS_MOST:
            raise LimitError(
                f"this machine has {links:,} links, and a network with credits can have {r.LINKS_MOST:,}; make it smaller"
            )
        self["vc_sets"] = take(r.SETS_MOST)
        self["routers"] = take(len(layout.routers) * words_of(r.ROUTER), 8)
        self["memories"] = take(len(layout.memories) * words_of(r.CREDIT_MEMORY))
        self["links"] = take(links * words_of(r.LINK), 8)
        self._output_vc_rows = take(int(layout.vc_n.sum()) * words_of(r.OUTPUT_VC), 8)
        self["inputs"] = take(links * self._control.input_speedup * words_of(r.INPUT), 8)
        self["vc_requests"] = take(int((layout.input_vc_n * layout.fan_out).max()) * words_of(r.VC_REQUEST))
        self["switch_candidates"] = take(int(layout.input_vc_n.max()))
        self["winners"] = take(r.PORTS_MOST)
        self["switch_requests"] = take(r.PORTS_MOST + _REQUEST_WORDS)
        self["matches"] = take(2 * r.PORTS_MOST)
        actors = len(layout.routers) + len(layout.memories) + links
        self["actor_blocks"] = -(-actors // r.BLOCK_ACTORS)
        self["groups"] = -(-self["actor_blocks"] >> r.GROUP_SHIFT)
        actor_blocks, groups = self["actor_blocks"], self["groups"]
        for field, count in (
            ("wakes", r.BLOCK_ACTORS * actor_blocks),
            ("block_wakes", actor_blocks),
            ("group_wakes", groups),
        ):
            self[field] = take(count)
            self._memory.words[self[field] : self[field] + count] = NEVER

    def _write_visible_at(self) -> None:
        """Make the rows of routers and memories that say since when the front of each input VC can be seen."""
        layout = self._layout
        nodes, shape = np.concatenate([layout.routers, layout.memories]), self._machine.node_count
        self._room, self._visible_at = (np.zeros(shape, np.int64) for _ in range(2))
        room = -(-layout.input_vc_n[nodes] // GROUP) * GROUP
        words = int(room.sum())
        place = self._take(words, GROUP)
        self._memory.words[place : place + words] = NEVER
        self._room[nodes], self._visible_at[nodes] = room, place + np.cumsum(room) - room

    def _write_ports(self, place: int, kind: np.dtype, nodes: np.ndarray) -> None:
        """Write the places of the visibility rows and of the links of some nodes by port."""
        edge_src, links = self._machine.edge_src, self._machine.edge_count
        order = np.lexsort((self._machine.edge_port, edge_src))  # edges by node and port
        start = np.searchsorted(edge_src[order], nodes)
        end = np.searchsorted(edge_src[order], nodes, side="right")
        outputs = self._take(links)
        self._memory.words[outputs : outputs + links] = self["links"] + words_of(r.LINK) * order
        rows = self._memory.rows(place, kind, len(nodes))
        rows["outputs"], rows["ports"] = outputs + start, end - start
        rows["visible_at"], rows["room"] = self._visible_at[nodes], self._room[nodes]

    def _write_routers(self) -> None:
        machine, layout = self._machine, self._layout
        nodes = layout.routers
        routing = -(-layout.figures("routing_fs")[nodes] // layout.cycle_fs)
        stages = self._write_stages(nodes, routing)
        rows = self._router_rows  # only now: what is taken may move the memory
        rows["routing"], rows["stages"] = routing, stages
        rows["vc_allocation"] = layout.cycles(layout.figures("vc_allocation_fs")[nodes])
        rows["input_vc_n"] = layout.input_vc_n[nodes]
        rows["output_vc_n"] = np.bincount(machine.edge_src, layout.vc_n, machine.node_count)[nodes]

    def _write_stages(self, nodes: np.ndarray, routing: np.ndarray) -> np.ndarray:
        """int64[router] the place of the stages of a router that takes more than a cycle, else 0; `routing` in cycles."""
        layout = self._layout
        traversal_fs = layout.figures("traversal_fs")[nodes]
        words = words_of(r.STAGES) + layout.fan_out[nodes]
        taken = np.where((routing > 1) | (traversal_fs > layout.cycle_fs), words, 0)
        places = self._take(int(taken.sum())) + np.cumsum(taken) - taken
        for place, fs in zip(places[taken > 0].tolist(), traversal_fs[taken > 0].tolist(), strict=True):
            self._memory.rows(place, r.STAGES, 1)[:] = (-NEVER, -NEVER, fs)
        return np.where(taken > 0, places, 0)

    def _write_memories(self) -> None:
        machine, control, layout = self._machine, self._control, self._layout
        rows = self._memory.rows(self["memories"], r.CREDIT_MEMORY, len(layout.memories))
        for field in ("coming", "first", "last"):
            rows[field] = codes.NONE
        ports, found = rows["ports"].tolist(), [machine.terminals[node] for node in layout.memories.tolist()]
        places = list[tuple[int, int]]()
        for terminal, count in zip(found, ports, strict=True):
            queues = self._memory.take(terminal.stripes * (1 + control.queue_flits))
            replies = self._memory.take(count * (r.REPLY_HEAD + control.reply_packets * words_of(r.REPLY)))
            places.append((queues, replies))
        rows = self._memory.rows(self["memories"], r.CREDIT_MEMORY, len(layout.memories))
        rows["queues"], rows["replies"] = np.array(places, np.int64).reshape(-1, 2).T
        rows["channel"] = [self._memory["stations"] + words_of(r.STATION) * one.first_station for one in found]
        rows["channel_n"], rows["overhead_fs"] = [one.stripes for one in found], [one.overhead_fs for one in found]

    def _write_links(self) -> None:
        machine, control, memory, layout = self._machine, self._control, self._memory, self._layout
        links, src, dst = machine.edge_count, machine.edge_src, machine.edge_dst
        edges = np.arange(links)
        full, wire = machine.stations.fs_per_flit[edges], machine.stations.propagation_fs[edges]
        home = wire[edges ^ 1] + np.where(layout.is_router[src], layout.figures("credit_fs")[src], 0)
        rows = self._links
        rows["full_fs"], rows["port"] = full, machine.edge_port
        rows["station"] = memory["stations"] + words_of(r.STATION) * edges
        rows["vc_n"] = layout.vc_n
        rows["buffer_words"] = words_of(r.BUFFERED) * layout.depth
        rows["output_vcs"] = self._output_vc_rows + words_of(r.OUTPUT_VC) * layout.first_output_vc
        rows["first_output_vc"] = np.where(layout.is_router[src], number_vcs(layout.vc_n, src, machine.edge_port), 0)
        rows["visible_at"] = self._visible_at[dst] + layout.first_input_vc
        rows["overhead_fs"] = np.where(layout.is_router[dst], machine.node_overhead_fs[dst], 0)
        rows["receiver"], rows["source"] = layout.receivers(dst), layout.senders(src)
        pipeline = layout.figures("switch_allocation_fs")
        rows["crossing_fs"] = pipeline[src] + np.maximum(layout.figures("traversal_fs")[src], full) + wire
        rows["sending_fs"] = full + wire
        rows["credit_fs"] = full + home
        self._returning = layout.cycles(pipeline[dst] + home)
        even = full % layout.cycle_fs == 0
        for field in ("crossing", "sending"):
            rows[field] = _short(even, layout.cycles(rows[f"{field}_fs"] + rows["overhead_fs"]))
        rows["ending"] = _short(even, layout.cycles(rows["crossing_fs"] + rows["credit_fs"]))
        for field in ("first", "last", "taken", "taken_last"):
            rows[field] = codes.NONE
        if control.internal_speedup > 1:
            rows["crossing"] = rows["ending"] = 0
        is_slow = layout.is_router[src] & (layout.figures("traversal_fs")[src] > layout.cycle_fs)
        rows["stages"][is_slow] = self._router_rows["stages"][layout.router_of[src[is_slow]]]
        rows["crossing"][is_slow] = rows["sending"][is_slow] = rows["ending"][is_slow] = 0
        if control.outstanding_packets:
            returns = memory.take(control.outstanding_packets * links)
            self._links["returns"] = returns + control.outstanding_packets * edges

    def _write_inputs(self) -> None:
        """Write the inputs of the switch of each router, by port."""
        layout = self._layout
        machine, speedup, links = self._machine, self._control.input_speedup, self._machine.edge_count
        far_port = machine.edge_port[np.arange(links) ^ 1]
        order = np.lexsort((far_port, machine.edge_dst))  # edges by the node and the port that they lead to
        self._inputs = np.empty(links, np.int64)
        self._inputs[order] = self["inputs"] + words_of(r.INPUT) * speedup * np.arange(links)
        rows = self._memory.rows(self["inputs"], r.INPUT, links * speedup).reshape(links, speedup)
        edge = order[:, None]
        rows["first"] = np.arange(speedup)
        rows["number"] = far_port[edge] * speedup + np.arange(speedup)
        rows["vc_n"], rows["returning"] = layout.vc_n[edge], self._returning[edge]
        rows["link"] = self["links"] + words_of(r.LINK) * edge
        rows["visible_at"] = self._visible_at[machine.edge_dst[edge]] + layout.first_input_vc[edge]
        rows["buffer_words"] = words_of(r.BUFFERED) * layout.depth[edge]
        routers = self._router_rows
        first = np.searchsorted(machine.edge_dst[order], layout.routers)
        routers["switch"] = self["inputs"] + words_of(r.INPUT) * speedup * first

    def _write_levels(self, cache_bytes: int, state_bytes: int) -> None:
        """Write which actors are near each other, and how many windows are served together.

        These are as many as levels of the network fit into the second cache. In checked runs small networks have them, too.
        """
        machine, memory, actor_blocks = self._machine, self._memory, self["actor_blocks"]
        self["block_served"] = memory.take(actor_blocks)
        is_free = self._control.outstanding_packets == 0
        self["together"] = 1
        if not (is_free and (self["is_large"] or CHECKED)):
            return
        rows = self._links
        links = np.stack([rows["source"], rows["receiver"]], axis=1).astype(np.int64)
        level = find_levels(actor_blocks, links, np.stack([machine.edge_src, machine.edge_dst], axis=1))
        starts = np.append(0, np.cumsum(np.bincount(level)))
        self["levels"] = len(starts) - 1
        self["level_starts"], self["level_blocks"] = memory.take(len(starts)), memory.take(actor_blocks)
        memory.words[self["level_starts"] :][: len(starts)] = starts
        memory.words[self["level_blocks"] :][:actor_blocks] = np.argsort(level, kind="stable")
        self["together"] = min(max(cache_bytes * self["levels"] // state_bytes, _TOGETHER_LEAST), _TOGETHER_MOST)

    def _state_bytes(self) -> int:
        """The bytes that flits on their way read and write: a line of each link, its inputs, and its virtual channels."""
        of_link = LINE + words_of(r.INPUT) * self._control.input_speedup
        in_visible_row = 1
        of_vc = (
            words_of(r.INPUT_VC) + words_of(r.OUTPUT_VC) + in_visible_row + words_of(r.BUFFERED) * self._layout.depth
        )
        return r.WORD * int((of_link + self._layout.vc_n * of_vc).sum())


def _short(even: np.ndarray, cycles: np.ndarray) -> np.ndarray:
    """Numbers of cycles; 0 where a time is a fraction of cycles or does not fit half a word."""
    return np.where(even & (cycles <= np.iinfo(np.int32).max), cycles, 0)
