"""The bound of a collective's task: what no algorithm on these participants can take less than on this machine.

Three kinds of bounds, of which the greatest holds. `docs/collectives.md` proves them.

* What must leave or enter a block of the machine (a PE, a cube, half a SIP, a SIP, half the SIPs), over the links that leave or
  enter it.
* What must cross between blocks in all, over the links of all of them.
* The time of an empty message between the two participants that are farthest apart.

The participants send what they have over the links of their PEs, and they alone add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.families.sip.places import PE_PARTS, sip_path
from kernbench.machine.intents import Intent, allowed_edges
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

Place = tuple[int, int, int]  # sip, cube, pe
LISTED = ("all_gather", "reduce_scatter", "all_to_all")  # every participant has one buffer for each


class Group(NamedTuple):
    """Participants that reduce or exchange with one another, `nbytes` in each buffer; `root` is an index of `members`."""

    members: tuple[Place, ...]
    nbytes: int
    root: int = 0


class TaskBound(NamedTuple):
    """A lower bound of the time of a task (ns), and what sets it."""

    ns: float
    by: str


class Demand(NamedTuple):
    """The least bytes that must leave a block, enter it, and cross between all blocks."""

    leave: Sequence[int]  # by block
    enter: Sequence[int]
    cross: int


def find_task_bound(machine: Machine, collective: str, groups: Sequence[Group]) -> TaskBound:
    """The bound of independent groups that run at the same time."""
    found = [_distance_bound(machine, collective, groups)]
    found += [
        bound for blocks in _divisions(machine, groups) for bound in _block_bounds(machine, collective, groups, blocks)
    ]
    return max(found, key=lambda bound: bound.ns)


def find_demand(collective: str, counts: Sequence[int], nbytes: int, root: int = 0) -> Demand:
    """What blocks with `counts` participants each must exchange; `root` is the block of the root. A block has one or more."""
    blocks, total = len(counts), sum(counts)
    others = blocks - 1
    if blocks < 2 or collective == "barrier":
        return Demand([0] * blocks, [0] * blocks, 0)
    if collective == "all_reduce":
        return Demand([nbytes] * blocks, [nbytes] * blocks, 2 * others * nbytes)
    if collective in ("broadcast", "reduce"):
        at_root = [nbytes * (block == root) for block in range(blocks)]
        elsewhere = [nbytes - part for part in at_root]
        leave, enter = (at_root, elsewhere) if collective == "broadcast" else (elsewhere, at_root)
        return Demand(leave, enter, others * nbytes)
    own = [count * nbytes for count in counts]
    rest = [(total - count) * nbytes for count in counts]
    if collective == "all_to_all":
        both = [count * (total - count) * nbytes for count in counts]
        return Demand(both, both, sum(both))
    leave, enter = (own, rest) if collective == "all_gather" else (rest, own)
    return Demand(leave, enter, others * total * nbytes)


def bus_factor(collective: str, participants: int) -> float:
    """Bus bandwidth over algorithm bandwidth, as communication libraries define it (NCCL tests)."""
    if collective == "all_reduce":
        return 2 * (participants - 1) / participants
    return (participants - 1) / participants if collective in LISTED else 1.0


def buffer_bytes(collective: str, groups: Sequence[Group]) -> int:
    """The bytes whose quotient with the time is the algorithm bandwidth: of all buffers of one participant of each group."""
    return sum(group.nbytes * (len(group.members) if collective in LISTED else 1) for group in groups)


def _block_bounds(machine: Machine, collective: str, groups: Sequence[Group], blocks: Blocks) -> Iterator[TaskBound]:
    """The bounds of one division of the machine into blocks."""
    leave, enter, cross = np.zeros(blocks.number), np.zeros(blocks.number), 0
    taking_part = np.zeros(blocks.number, bool)
    for group in groups:
        of_members = [blocks.of_place(place) for place in group.members]
        held, counts = np.unique(of_members, return_counts=True)
        root = int(np.searchsorted(held, of_members[group.root]))
        demand = find_demand(collective, counts.tolist(), group.nbytes, root)
        leave[held] += demand.leave
        enter[held] += demand.enter
        taking_part[held] = True
        cross += demand.cross
    out, into = _capacities(machine, blocks)
    for nbytes, gbs, way in ((leave, out, "leave"), (enter, into, "enter")):
        at = int(np.argmax(np.divide(nbytes, gbs, out=np.zeros(blocks.number), where=gbs > 0)))
        if nbytes[at] and gbs[at]:
            yield _over(nbytes[at], gbs[at], f"{way} {blocks.one}")
    every = min(out[taking_part].sum(), into[taking_part].sum())
    if cross and every:
        yield _over(cross, every, f"pass between {blocks.all}")


def _over(nbytes: float, gbs: float, what: str) -> TaskBound:
    return TaskBound(float(nbytes / gbs), f"{nbytes:,.0f} B must {what}, whose links pass {gbs:,.1f} GB/s")


class Blocks(NamedTuple):
    """Disjoint blocks of nodes, which together hold all participants."""

    one: str  # in messages
    all: str
    number: int
    of_node: np.ndarray  # int64[node], -1 outside of all
    of_place: Callable[[Place], int]


def _capacities(machine: Machine, blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
    """float64[block] GB/s of the links that leave each block, and of those that enter it."""
    edges = allowed_edges(machine.edge_kind, Intent.PE_DMA)
    gbs = machine.flit_bytes / (machine.stations.fs_per_flit[edges] / FS_PER_NS)
    source, target = (blocks.of_node[ends[edges]] for ends in (machine.edge_src, machine.edge_dst))
    crosses = source != target
    out, into = crosses & (source >= 0), crosses & (target >= 0)
    return (
        np.bincount(source[out], gbs[out], blocks.number),
        np.bincount(target[into], gbs[into], blocks.number),
    )


def _divisions(machine: Machine, groups: Sequence[Group]) -> Iterator[Blocks]:
    """The divisions of the machine: PEs, cubes, halves of the cubes of a SIP, SIPs, halves of the SIPs."""
    places = machine.places
    cubes, w, h = places.cubes_per_sip, places.cube_w, places.cube_h
    members = sorted({place for group in groups for place in group.members})
    of_member = {place: i for i, place in enumerate(members)}
    nodes = np.full(machine.node_count, -1)
    for place, number in of_member.items():
        pe = places.pe(*place)
        nodes[[getattr(pe, part) for part in PE_PARTS]] = number
    yield Blocks("a PE", "all PEs", len(members), nodes, of_member.__getitem__)

    of_sip = {sip: i for i, sip in enumerate(sorted({sip for sip, _, _ in members}))}
    every = np.arange(cubes)
    for one, all_of_them, part_of in (
        ("a cube", "all cubes", every),
        ("half the columns of a SIP", "such halves of SIPs", (every % w >= w // 2).astype(int)),
        ("half the rows of a SIP", "such halves of SIPs", (every // w >= h // 2).astype(int)),
    ):
        parts = int(part_of.max()) + 1
        numbers = np.full(places.sip_count * cubes + 1, -1)  # the last is for nodes outside of cubes
        for sip, number in of_sip.items():
            numbers[sip * cubes + every] = number * parts + part_of
        yield Blocks(one, all_of_them, len(of_sip) * parts, numbers[places.cube_of()], _lookup(numbers, cubes))

    paths = {sip_path(sip): number for sip, number in of_sip.items()}
    nodes = np.array([paths.get(name.partition(".")[0], -1) for name in machine.node_name])
    half = len(of_sip) // 2
    halves = np.where(nodes < 0, -1, nodes >= half)

    def sip_of(place: Place) -> int:
        return of_sip[place[0]]

    def half_of(place: Place) -> int:
        return int(sip_of(place) >= half)

    yield Blocks("a SIP", "all SIPs", len(of_sip), nodes, sip_of)
    yield Blocks("half the SIPs", "the halves of the SIPs", 2, halves, half_of)


def _lookup(numbers: np.ndarray, cubes: int) -> Callable[[Place], int]:
    return lambda place: int(numbers[place[0] * cubes + place[1]])


def _distance_bound(machine: Machine, collective: str, groups: Sequence[Group]) -> TaskBound:
    """An empty message between members of the first group, over the quickest links there are.

    It is from the root to the farthest member (to the root, of a reduction). Without a root it is from the member that is
    farthest from the first one.
    """
    members = groups[0].members
    home = collective == "reduce"
    dma = [machine.places.pe(*place).dma for place in members]
    every = [machine.places.pe(*place).dma for group in groups for place in group.members]
    overhead_fs = np.array(machine.node_overhead_fs)
    overhead_fs[every] = 0  # a participant may take a message in and send it on
    edges = allowed_edges(machine.edge_kind, Intent.PE_DMA)
    ends = machine.edge_src[edges], machine.edge_dst[edges]
    source, target = reversed(ends) if home else ends
    time_fs = machine.stations.propagation_fs[edges] + overhead_fs[machine.edge_src[edges]]

    def farthest(root: int) -> tuple[int, int, int]:
        """The root, the member that is farthest from it, and the time between them."""
        distance = _distances(source, target, time_fs, root, machine.node_count)[dma]
        at = int(np.argmax(distance))
        return root, dma[at], int(distance[at])

    found = farthest(dma[groups[0].root])
    if collective not in ("broadcast", "reduce"):
        found = farthest(found[1])
    first, last = (machine.node_name[node] for node in (found[:2] if not home else found[1::-1]))
    return TaskBound(found[2] / FS_PER_NS, f"an empty message must get from {first} to {last}")


def _distances(source: np.ndarray, target: np.ndarray, time_fs: np.ndarray, root: int, nodes: int) -> np.ndarray:
    """int64[node] the least time from the root over edges, by relaxing all of them until none is quicker (Bellman and Ford)."""
    far = np.iinfo(np.int64).max // 2
    distance = np.full(nodes, far)
    distance[root] = 0
    while True:
        nearer = distance.copy()
        np.minimum.at(nearer, target, distance[source] + time_fs)
        if np.array_equal(nearer, distance):
            return distance
        distance = nearer
