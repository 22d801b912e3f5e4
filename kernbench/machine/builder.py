"""Builder of machines: a flat graph to which families add nodes, links, memories and servers.

A structure that repeats (a cube) is built once as a `Builder` of its own and pasted at each of its places, which shifts its
ids and prefixes its names. Every link is two directed edges with neighbouring ids: `edge ^ 1` is the reverse edge. Of equally
long paths routing takes the one whose last edge has the lower id, so the link that is added first wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.machine.intents import EdgeKind
from kernbench.machine.machine import Machine, Terminal
from kernbench.machine.sheets.field_provenance import Provenance, Source
from kernbench.machine.sheets.quantities import NO_TIME, Rate, Time
from kernbench.units import FS_PER_NS
from kernels_jit.layout.machine_tables import Stations

if TYPE_CHECKING:
    from kernbench.machine.machine import MachineShape
    from kernbench.machine.network.flow_control import FlowControl
    from kernbench.parts.derived import Origin


# Added to the weight of every link: of equally long paths the one with fewer links is taken, and no weight is 0, so equally
# long paths never form a cycle.
HOP_UM = 1
BY_LENGTH = -1  # a delay that follows from the length


class _Memory(NamedTuple):
    node: int
    stripes: int
    rate: Rate  # of one stripe
    quantum_bytes: int
    turn: Time
    overhead: Time


class Builder:
    """The nodes, links, memories and servers of a machine under construction."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.kinds: list[str] = []
        self.overheads: dict[Time, int] = {}  # the distinct ones of nodes, numbered
        self.overhead: list[int] = []  # of each node, into `overheads`
        self.store_and_forward: list[bool] = []
        self.position: list[tuple[float, float]] = []  # mm
        self.ends: list[tuple[int, int, int, int, int]] = []  # src, dst, kind, um, weight
        self.rates: dict[Rate, int] = {}  # the distinct ones of links, numbered
        self.rate: list[int] = []  # of each edge, into `rates`
        self.delay_fs: list[int] = []  # of each edge, or BY_LENGTH
        self.port: list[int] = []  # of each edge, at its source
        self.memories: list[_Memory] = []
        self.servers: list[tuple[str, str, int]] = []  # name, kind, slots

    def node(
        self, name: str, kind: str, at: tuple[float, float], overhead: Time = NO_TIME, store_and_forward: bool = False
    ) -> int:
        """Add a node at a position in mm; returns its id."""
        self.names.append(name)
        self.kinds.append(kind)
        self.overhead.append(self.overheads.setdefault(overhead, len(self.overheads)))
        self.store_and_forward.append(store_and_forward)
        self.position.append(at)
        return len(self.names) - 1

    def link(
        self,
        a: int,
        b: int,
        kind: EdgeKind,
        rate: Rate,
        *,
        back: Rate | None = None,
        um: int | None = None,
        least_mm: float = 0.0,
        penalty: int = 0,
        delays_fs: tuple[int, int] = (BY_LENGTH, BY_LENGTH),
        one_way: bool = False,
        ports: tuple[int, int] = (0, 0),
    ) -> None:
        """Add two directed edges between two nodes; the one back has the same rate, or the rate `back`.

        Their length is `um`, or the distance along the two axes but at least `least_mm`. `penalty` is added to the weight that
        routing minimises. `delays_fs` is the propagation of a flit there and back if it does not follow from the length.
        Through a `one_way` link nothing travels from `b` to `a`: that edge stands in the tables, but no route may use it.
        `ports` are the places among the ports of either node; those of equal places follow each other as they were added.
        """
        if um is None:
            (ax, ay), (bx, by) = self.position[a], self.position[b]
            um = round(1000 * max(abs(ax - bx) + abs(ay - by), least_mm))
        weight = um + HOP_UM + penalty
        self.ends += [(a, b, kind, um, weight), (b, a, EdgeKind.CLOSED if one_way else kind, um, weight)]
        self.rate += [self.rates.setdefault(one, len(self.rates)) for one in (rate, back or rate)]
        self.delay_fs += delays_fs
        self.port += ports

    def memory(
        self, node: int, *, stripes: int, rate: Rate, quantum_bytes: int, overhead: Time, turn: Time = NO_TIME
    ) -> None:
        """Add a memory behind a node: `stripes` channels of one rate each."""
        self.memories.append(_Memory(node, stripes, rate, quantum_bytes, turn, overhead))

    def server(self, name: str, kind: str, slots: int = 1) -> None:
        """Add a server of jobs, `slots` at a time."""
        self.servers.append((name, kind, slots))

    def paste(self, cell: Builder, prefix: str, at: tuple[float, float]) -> int:
        """Add a copy of a cell with its origin at a position; returns the number that its node ids are shifted by."""
        shift = len(self.names)
        self.names += [prefix + name for name in cell.names]
        self.kinds += cell.kinds
        self.overhead += _renumber(self.overheads, cell.overheads, cell.overhead)
        self.store_and_forward += cell.store_and_forward
        self.position += [(x + at[0], y + at[1]) for x, y in cell.position]
        self.ends += [(a + shift, b + shift, kind, um, weight) for a, b, kind, um, weight in cell.ends]
        self.rate += _renumber(self.rates, cell.rates, cell.rate)
        self.delay_fs += cell.delay_fs
        self.port += cell.port
        self.memories += [memory._replace(node=memory.node + shift) for memory in cell.memories]
        self.servers += [(prefix + name, kind, slots) for name, kind, slots in cell.servers]
        return shift

    def finish(
        self,
        *,
        name: str,
        family: str,
        digest: str,
        flit_bytes: int,
        ns_per_mm: float,
        figures: Mapping[str, float],
        origins: Mapping[str, Origin],
        shape: MachineShape,
        flow_control: FlowControl | None = None,
        packet_flits: int | None = None,
    ) -> Machine:
        """The machine; `origins` has the origin of each figure that follows from one field."""
        position = np.array(self.position, np.float64).reshape(-1, 2)
        ends = np.array(self.ends, np.int64).reshape(-1, 5)
        src, dst, kind, um, weight = ends.T
        gbs = np.array([rate.gbs for rate in self.rates], np.float64)[np.array(self.rate, np.intp)]
        overhead_fs = np.array([time.fs for time in self.overheads], np.int64)[np.array(self.overhead, np.intp)]
        return Machine(
            name=name,
            family=family,
            digest=digest,
            flit_bytes=flit_bytes,
            figures=dict(figures),
            node_name=tuple(self.names),
            node_kind=tuple(self.kinds),
            node_x_mm=np.ascontiguousarray(position[:, 0]),
            node_y_mm=np.ascontiguousarray(position[:, 1]),
            node_overhead_fs=overhead_fs,
            node_store_and_forward=np.array(self.store_and_forward, np.bool_),
            edge_src=src.astype(np.int32),
            edge_dst=dst.astype(np.int32),
            edge_kind=kind.astype(np.uint8),
            edge_um=um.copy(),
            edge_weight=weight.copy(),
            edge_gbs=gbs,
            edge_port=_number_ports(src, np.array(self.port, np.int64)),
            station_name=self._station_names(),
            stations=self._stations(gbs, um, flit_bytes, ns_per_mm),
            terminals=self._terminals(len(gbs)),
            provenance=self._provenance(src, origins),
            server_name=tuple(name for name, _, _ in self.servers),
            server_kind=tuple(kind for _, kind, _ in self.servers),
            server_slots=np.array([slots for _, _, slots in self.servers], np.int64),
            shape=shape,
            flow_control=flow_control,
            packet_flits=packet_flits,
            port_class=np.zeros(len(self.names), np.uint8),
        )

    def _station_names(self) -> tuple[str, ...]:
        edges = (f"{self.names[a]} -> {self.names[b]}" for a, b, *_ in self.ends)
        channels = (f"{self.names[m.node]}.ch{i}" for m in self.memories for i in range(m.stripes))
        return (*edges, *channels)

    def _stations(self, edge_gbs: np.ndarray, um: np.ndarray, flit_bytes: int, ns_per_mm: float) -> Stations:
        memories, edges = self.memories, len(edge_gbs)
        stripes = np.array([m.stripes for m in memories], np.int64)
        channel_gbs = np.repeat(np.array([m.rate.gbs for m in memories], np.float64), stripes)
        quantum = np.repeat(np.array([m.quantum_bytes for m in memories], np.int64), stripes)
        turn = np.repeat(np.array([m.turn.fs for m in memories], np.int64), stripes)
        delay = np.array(self.delay_fs, np.int64)
        by_length = np.rint(um * (ns_per_mm * FS_PER_NS / 1000)).astype(np.int64)
        propagation = np.where(delay == BY_LENGTH, by_length, delay)
        return Stations(
            fs_per_flit=np.rint(flit_bytes * FS_PER_NS / np.concatenate([edge_gbs, channel_gbs])).astype(np.int64),
            quantum_bytes=np.concatenate([np.ones(edges, np.int64), quantum]),
            turn_fs=np.concatenate([np.zeros(edges, np.int64), turn]),
            propagation_fs=np.concatenate([propagation, np.zeros(len(channel_gbs), np.int64)]),
        )

    def _provenance(self, src: np.ndarray, figures: Mapping[str, Origin]) -> Provenance:
        memories, sources = self.memories, dict[Source, int]()

        def number(quantities: Iterable[Rate | Time]) -> np.ndarray:
            found = [q.source for q in quantities]
            return np.array([-1 if s is None else sources.setdefault(s, len(sources)) for s in found], np.int16)

        node = number(self.overheads)[np.array(self.overhead, np.intp)]
        stripes = np.array([m.stripes for m in memories], np.int64)
        service = [
            number(self.rates)[np.array(self.rate, np.intp)],
            np.repeat(number(m.rate for m in memories), stripes),
        ]
        overhead = [node[src], np.repeat(number(m.overhead for m in memories), stripes)]
        turn = [np.full(len(src), -1, np.int16), np.repeat(number(m.turn for m in memories), stripes)]
        stations = (np.concatenate(arrays) for arrays in (service, overhead, turn))
        return Provenance(tuple(sources), figures, node, *stations)

    def _terminals(self, first: int) -> dict[int, Terminal]:
        found: dict[int, Terminal] = {}
        for memory in self.memories:
            found[memory.node] = Terminal(first, memory.stripes, memory.overhead.fs)
            first += memory.stripes
        return found


def _number_ports(src: np.ndarray, place: np.ndarray) -> np.ndarray:
    """int32[edge] the port of an edge at its source: how many edges from there stand before it."""
    order = np.lexsort((np.arange(len(src)), place, src))
    ports = np.empty(len(src), np.int32)
    ports[order] = np.arange(len(src)) - np.searchsorted(src[order], src[order])
    return ports


def _renumber(known: dict[Any, int], own: Mapping[Any, int], numbers: list[int]) -> list[int]:
    """The numbers of a cell's quantities among the known ones, to which new ones are added."""
    new = [known.setdefault(quantity, len(known)) for quantity in own]
    return numbers if new == list(range(len(new))) else [new[number] for number in numbers]
