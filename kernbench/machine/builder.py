"""A growing flat graph: what families write machines with.

A structure that repeats (a cube) is built once as a `Builder` of its own and pasted as often as it stands in the machine,
which shifts its numbers and prefixes its names. Every link is two directed edges with neighbouring ids: `edge ^ 1` is
the way back. Of ways that are equally long routing takes the last link with the lower id, so what is linked first wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.intents import EdgeKind
from kernbench.machine.machine import Machine, Terminal
from kernbench.units import FS_PER_NS
from kernels_jit.layout.machine_tables import Stations

if TYPE_CHECKING:
    from kernbench.machine.mesh_places import MeshShape
    from kernbench.machine.part_index import Shape


# Added to every link: of ways of one length the one with fewer links is taken, and no link is free, so that equally long
# ways never form a ring.
HOP_UM = 1
BY_LENGTH = -1  # no delay of its own


class _Memory(NamedTuple):
    node: int
    stripes: int
    gbs: float  # of one stripe
    quantum_bytes: int
    turn_fs: int
    overhead_fs: int


class Builder:
    """Nodes, links, memories and servers under construction."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.kinds: list[str] = []
        self.overhead_fs: list[int] = []
        self.whole: list[bool] = []
        self.position: list[tuple[float, float]] = []  # mm
        self.ends: list[tuple[int, int, int, int, int]] = []  # src, dst, kind, um, weight
        self.gbs: list[float] = []
        self.delay_fs: list[int] = []  # of each edge, where it is not what its length says; else BY_LENGTH
        self.memories: list[_Memory] = []
        self.servers: list[tuple[str, str, int]] = []  # name, kind, slots

    def node(self, name: str, kind: str, at: tuple[float, float], overhead_fs: int = 0, whole: bool = False) -> int:
        """A new node at a position in mm; its id."""
        self.names.append(name)
        self.kinds.append(kind)
        self.overhead_fs.append(overhead_fs)
        self.whole.append(whole)
        self.position.append(at)
        return len(self.names) - 1

    def link(
        self,
        a: int,
        b: int,
        kind: EdgeKind,
        gbs: float,
        *,
        um: int | None = None,
        least_mm: float = 0.0,
        penalty: int = 0,
        delays_fs: tuple[int, int] = (BY_LENGTH, BY_LENGTH),
    ) -> None:
        """Two directed edges between two nodes; as long as the way along the axes, but `least_mm` at least.

        `delays_fs`: what a flit takes along it there and back, where that is a figure of its own.
        """
        if um is None:
            (ax, ay), (bx, by) = self.position[a], self.position[b]
            um = round(1000 * max(abs(ax - bx) + abs(ay - by), least_mm))
        weight = um + HOP_UM + penalty
        self.ends += [(a, b, kind, um, weight), (b, a, kind, um, weight)]
        self.gbs += [gbs, gbs]
        self.delay_fs += delays_fs

    def memory(
        self, node: int, *, stripes: int, gbs: float, quantum_bytes: int, turn_fs: int, overhead_fs: int
    ) -> None:
        """A memory behind a node: `stripes` channels of `gbs` each."""
        self.memories.append(_Memory(node, stripes, gbs, quantum_bytes, turn_fs, overhead_fs))

    def server(self, name: str, kind: str, slots: int = 1) -> None:
        """Something that serves whole jobs, `slots` at a time."""
        self.servers.append((name, kind, slots))

    def paste(self, cell: Builder, prefix: str, at: tuple[float, float]) -> int:
        """A copy of a cell with its origin at a position; the number that its node ids are shifted by."""
        shift = len(self.names)
        self.names += [prefix + name for name in cell.names]
        self.kinds += cell.kinds
        self.overhead_fs += cell.overhead_fs
        self.whole += cell.whole
        self.position += [(x + at[0], y + at[1]) for x, y in cell.position]
        self.ends += [(a + shift, b + shift, kind, um, weight) for a, b, kind, um, weight in cell.ends]
        self.gbs += cell.gbs
        self.delay_fs += cell.delay_fs
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
        shape: Shape | MeshShape,
    ) -> Machine:
        """The machine of what was built."""
        position = np.array(self.position, np.float64).reshape(-1, 2)
        ends = np.array(self.ends, np.int64).reshape(-1, 5)
        src, dst, kind, um, weight = ends.T
        edge_names = [f"{self.names[a]} -> {self.names[b]}" for a, b, *_ in self.ends]
        channel_names = [f"{self.names[m.node]}.ch{i}" for m in self.memories for i in range(m.stripes)]
        gbs = np.array(self.gbs, np.float64)
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
            node_overhead_fs=np.array(self.overhead_fs, np.int64),
            node_whole=np.array(self.whole, np.bool_),
            edge_src=src.astype(np.int32),
            edge_dst=dst.astype(np.int32),
            edge_kind=kind.astype(np.uint8),
            edge_um=um.copy(),
            edge_weight=weight.copy(),
            edge_gbs=gbs,
            station_name=(*edge_names, *channel_names),
            stations=self._stations(gbs, um, flit_bytes, ns_per_mm),
            terminals=self._terminals(len(gbs)),
            server_name=tuple(name for name, _, _ in self.servers),
            server_kind=tuple(kind for _, kind, _ in self.servers),
            server_slots=np.array([slots for _, _, slots in self.servers], np.int64),
            shape=shape,
        )

    def _stations(self, edge_gbs: np.ndarray, um: np.ndarray, flit_bytes: int, ns_per_mm: float) -> Stations:
        memories, edges = self.memories, len(edge_gbs)
        stripes = np.array([m.stripes for m in memories], np.int64)
        channel_gbs = np.repeat(np.array([m.gbs for m in memories], np.float64), stripes)
        quantum = np.repeat(np.array([m.quantum_bytes for m in memories], np.int64), stripes)
        turn = np.repeat(np.array([m.turn_fs for m in memories], np.int64), stripes)
        delay = np.array(self.delay_fs, np.int64)
        by_length = np.rint(um * (ns_per_mm * FS_PER_NS / 1000)).astype(np.int64)
        propagation = np.where(delay == BY_LENGTH, by_length, delay)
        return Stations(
            fs_per_flit=np.rint(flit_bytes * FS_PER_NS / np.concatenate([edge_gbs, channel_gbs])).astype(np.int64),
            quantum_bytes=np.concatenate([np.ones(edges, np.int64), quantum]),
            turn_fs=np.concatenate([np.zeros(edges, np.int64), turn]),
            propagation_fs=np.concatenate([propagation, np.zeros(len(channel_gbs), np.int64)]),
        )

    def _terminals(self, first: int) -> dict[int, Terminal]:
        found = {}
        for memory in self.memories:
            found[memory.node] = Terminal(first, memory.stripes, memory.overhead_fs)
            first += memory.stripes
        return found
