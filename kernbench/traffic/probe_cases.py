"""The cases of a probe: a standard set of flows for any machine.

On a machine of SIPs there are three families: the host writes, the host reads, and one PE moves data by DMA. The host's
targets lie at growing distances, the same for writes and reads. The PE's targets are its own slice of HBM, the nearest and
the farthest slice of its cube and of the other cubes of its SIP, and its nearest and farthest counterpart in another SIP. A
bare network has one family, messages from one corner. Of a chip of Tensix cores the first core writes and reads, each by the
network that its kernels use, and of an Ascend chip the host and the first core of each type. A case is a flow, so `--flow`
runs any of them alone. Targets that a machine lacks are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, TypeVar

from kernbench.errors import InputError
from kernbench.machine.families.ascend.places import AscendPlaces
from kernbench.machine.families.mesh.places import MeshPlaces, node_name
from kernbench.machine.families.sip.places import pe_path
from kernbench.machine.families.tensix.places import READER_NETWORK, WRITER_NETWORK, TensixPlaces
from kernbench.machine.intents import Intent, RouteKind
from kernbench.text import plural
from kernbench.traffic.flow_routing import HOST

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

WRITES, READS, DMA, MESSAGES = "h2d", "d2h", "pe_dma", "messages"
CORE_WRITES, CORE_READS = "core_writes", "core_reads"  # of a chip of Tensix cores
ASCEND_HOST, AIC, AIV = "host", "aic", "aiv"
TITLES = {
    WRITES: "host to device, writes",
    READS: "device to host, reads",
    DMA: "PE DMA, writes",
    MESSAGES: "endpoint to endpoint, messages",
    CORE_WRITES: "core to memory, writes",
    CORE_READS: "memory to core, reads",
    ASCEND_HOST: "host to HBM and back",
    AIC: "cube core to memory and back",
    AIV: "vector core to memory and back",
}
OWN, SLICE, CUBE, SIP = "own slice", "other slice", "other cube", "other SIP"  # distances of DMA targets
NEAR, FAR = "near", "far"
OWN_L1, L1, DRAM = "own L1", "other L1", "DRAM"  # distances of memories from a Tensix core
L2, HBM = "L2", "HBM"  # memories of an Ascend chip

_Place = tuple[int, int, int]  # SIP, cube, PE
_Target = TypeVar("_Target")


@dataclass(frozen=True, slots=True)
class Case:
    """A flow between two parts. `name` tells it from the other cases of its family."""

    family: str
    name: str
    src: str
    dst: str
    kind: str  # "write" or "read"

    def flow(self, nbytes: int) -> str:
        """The case as a text for `--flow`."""
        return f"{self.src}:{self.dst}:{nbytes}:{self.kind}"


def list_cases(machine: Machine) -> tuple[Case, ...]:
    """The cases of a machine, nearest first in each family. Errors: InputError for a machine on which nothing can be probed."""
    places = machine.places
    if isinstance(places, MeshPlaces):
        return tuple(_messages(machine, places))
    if isinstance(places, TensixPlaces):
        return tuple(_transactions(machine, places))
    if isinstance(places, AscendPlaces):
        return tuple(_copies(machine, places))
    targets = [(name, pe_path(*place)) for name, place in _host_targets(machine)]
    source = (0, 0, 0)
    return (
        *(Case(WRITES, name, HOST, target, "write") for name, target in targets),
        *(Case(READS, name, HOST, target, "read") for name, target in targets),
        *(Case(DMA, name, pe_path(*source), pe_path(*place), "write") for name, place in _reach(machine, source)),
    )


def _host_targets(machine: Machine) -> Iterable[tuple[str, _Place]]:
    """The first PE of a cube for each number of links to it; then the farthest PE of all, if it is farther."""
    places, host = machine.places, machine.places.pcie_ep(0)

    def hops(place: _Place) -> int:
        return len(machine.routing.edges_between(host, places.hbm(*place), Intent.M_CPU_DMA))

    at: dict[int, _Place] = {}
    for cube in range(places.cubes_per_sip):
        at.setdefault(hops((0, cube, 0)), (0, cube, 0))
    for count in sorted(at):
        yield f"cube{at[count][1]}", at[count]
    farthest = max(_pes_of(machine, 0), key=hops)
    if hops(farthest) > max(at):
        yield "farthest PE", farthest


def _reach(machine: Machine, source: _Place) -> Iterable[tuple[str, _Place]]:
    """The targets of a PE's DMA, nearest first."""
    places, dma = machine.places, machine.places.pe(*source).dma

    def distance(place: _Place) -> int:
        return machine.routing.distance(dma, places.hbm(*place), Intent.PE_DMA)

    sip, cube, _ = source
    others = [place for place in _pes_of(machine, sip) if place != source]
    yield OWN, source
    yield from _ends(SLICE, [place for place in others if place[1] == cube], distance)
    yield from _ends(CUBE, [place for place in others if place[1] != cube], distance)
    yield from _ends(SIP, [(other, *source[1:]) for other in range(places.sip_count) if other != sip], distance)


def _ends(name: str, places: list[_Target], distance: Callable[[_Target], int]) -> Iterable[tuple[str, _Target]]:
    """The nearest and the farthest of some places, the first of equals; one case if both are the same."""
    if not places:
        return
    near, far = min(places, key=distance), max(places, key=distance)
    if near == far:
        yield name, near
        return
    yield f"{name}, {NEAR}", near
    yield f"{name}, {FAR}", far


def _pes_of(machine: Machine, sip: int) -> list[_Place]:
    places = machine.places
    return [(sip, cube, pe) for cube, pe in product(range(places.cubes_per_sip), range(places.pes_per_cube))]


def _messages(machine: Machine, places: MeshPlaces) -> Iterable[Case]:
    """From the first endpoint over 1, 2, 4, ... links between routers, and to the farthest."""
    both_ways = places.mesh.torus and not places.mesh.one_way
    across, down = (length // 2 if both_ways else length - 1 for length in (places.w, places.h))
    farthest = across + down
    if not farthest:
        raise InputError(f"machine {machine.name} has one endpoint, which has nobody to send to; set k to 2 or more")
    hops = [1 << power for power in range(farthest.bit_length()) if 1 << power < farthest]
    for count in (*hops, farthest):
        col = min(count, across)
        yield Case(MESSAGES, plural(count, "hop"), node_name(0, 0), node_name(count - col, col), "write")


def _transactions(machine: Machine, places: TensixPlaces) -> Iterable[Case]:
    """Of the first core to its own L1, and to the nearest and farthest other L1 and bank by the links of the payload."""
    names, own = machine.node_name, (0, 0)
    others = [places.l1((x, y)) for y, x in product(range(places.h), range(places.w)) if (x, y) != own]
    banks = [places.bank(bank) for bank in range(places.grid.banks)]
    for family, network, kind in (
        (CORE_WRITES, WRITER_NETWORK, RouteKind.WRITE),
        (CORE_READS, READER_NETWORK, RouteKind.READ),
    ):
        near, to_dram = places.interface(own, network), places.dram_side(own, network)
        hops = partial(_count_links, machine, near, kind)
        for name, memory in ((OWN_L1, places.l1(own)), *_ends(L1, others, hops)):
            yield Case(family, name, names[near], names[memory], kind.name.lower())
        for name, memory in _ends(DRAM, banks, partial(_count_links, machine, to_dram, kind)):
            yield Case(family, name, names[to_dram], names[memory], kind.name.lower())


def _count_links(machine: Machine, source: int, kind: RouteKind, memory: int) -> int:
    """The links that the payload of a read or write passes."""
    routing = machine.routing
    return len(routing.edges(routing.route(source, memory, Intent.ALL, kind)))


def _copies(machine: Machine, places: AscendPlaces) -> Iterable[Case]:
    """Of the host to HBM, and of the first core of each type to L2 and HBM; each writes, then reads."""
    names, memories = machine.node_name, {L2: places.l2, HBM: places.gm_hbm}
    cube_core, vector_core = (places.core(0, index).node for index in (0, 1))
    for family, source in ((ASCEND_HOST, places.npu_host), (AIC, cube_core), (AIV, vector_core)):
        for name in [HBM] if family == ASCEND_HOST else [L2, HBM]:
            for kind in ("write", "read"):
                yield Case(family, f"{name}, {kind}", names[source], names[memories[name]], kind)
