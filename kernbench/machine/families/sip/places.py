"""The part index of a `sip` machine: node and server ids by coordinates. It alone makes the names of parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernbench.errors import InputError
from kernbench.machine.address import Address, MemorySpace, base_of, decode
from kernbench.machine.families.sip.network import OPPOSITE, SipNetwork, link_chiplets

_PE_PATH = re.compile(r"sip(\d+)\.cube(\d+)\.pe(\d+)")
_CUBE_PATH = re.compile(r"sip(\d+)\.cube(\d+)\.")
_CHIPLET_PATH = re.compile(r"sip\d+\.io(\d+)\.")
_SIP_PATH = re.compile(r"sip(\d+)\.")


def sip_path(sip: int | None) -> str:
    """The path of a SIP. A coordinate may be None, in messages that lack it."""
    return f"sip{sip}"


def cube_path(sip: int | None, cube: int | None) -> str:
    """The path of a cube."""
    return f"{sip_path(sip)}.cube{cube}"


def pe_path(sip: int | None, cube: int | None, pe: int | None) -> str:
    """The path of a PE, which `Places.find_pe` reads."""
    return f"{cube_path(sip, cube)}.pe{pe}"


@dataclass(frozen=True, slots=True)
class SipShape:
    """The counts and sizes of a `sip` machine."""

    sip_count: int
    sip_w: int
    sip_h: int
    sip_topology: str
    cube_w: int
    cube_h: int
    pes_per_cube: int
    pe_routers: tuple[str, ...]  # the router of each PE of a cube
    slice_bytes: int
    sram_bytes: int = 0
    tcm_bytes: int = 0
    address_model: str = "va"  # of the addresses in kernels: "va", "pa" or "la"
    io_sides: tuple[str, ...] = ("N",)  # the side of each IO chiplet of a SIP
    sip_wiring: str = "switch"  # or "direct"

    def locate(self, nodes: Mapping[str, int], servers: Mapping[str, int]) -> Places:
        """The part index of a machine of this shape, from the ids of its nodes and servers."""
        return Places(self, nodes, servers)


@dataclass(frozen=True, slots=True)
class PePlace:
    """The node and server ids of one PE."""

    sip: int
    cube: int
    pe: int
    router: int
    cpu: int
    scheduler: int
    dma: int
    fetch_store: int
    gemm: int
    math: int
    tcm: int
    mmu: int
    ipcq: int
    cpu_server: int
    scheduler_server: int
    dma_read: int
    dma_write: int
    fetch_store_server: int
    gemm_server: int
    math_server: int
    ipcq_server: int
    tcm_read: int
    tcm_write: int
    ipcq_read: int
    ipcq_write: int


PE_PARTS = ("cpu", "scheduler", "dma", "fetch_store", "gemm", "math", "tcm", "mmu", "ipcq")
ONE_SERVER = ("cpu", "scheduler", "fetch_store", "gemm", "math", "ipcq")  # parts with one server
READ_WRITE = ("dma", "tcm", "ipcq")  # parts with a server for reads and one for writes


class Places:
    """Node and server ids by coordinates. Every method raises InputError for coordinates that the machine lacks."""

    def __init__(self, shape: SipShape, nodes: Mapping[str, int], servers: Mapping[str, int]) -> None:
        self.shape = shape
        self.sip_count = shape.sip_count
        self.sip_w, self.sip_h, self.sip_topology = shape.sip_w, shape.sip_h, shape.sip_topology
        self.cube_w, self.cube_h = shape.cube_w, shape.cube_h
        self.cubes_per_sip = shape.cube_w * shape.cube_h
        self.pes_per_cube = shape.pes_per_cube
        self._nodes, self._servers = nodes, servers
        self._pes: dict[tuple[int, int, int], PePlace] = {}
        self._m_cpus: dict[tuple[int, int], int] = {}
        self._memories: dict[int, tuple[int, int]] = {}  # (node, bytes) by first address
        self._cube_of: np.ndarray | None = None
        self._sip_of: np.ndarray | None = None
        self._chiplet_of: np.ndarray | None = None
        direct = shape.sip_wiring == "direct"
        self._network = SipNetwork.of(shape.sip_topology, shape.sip_w, shape.sip_h) if direct else None
        self._link_chiplets = link_chiplets(shape.io_sides, self._network.directions) if self._network else {}
        self._cpu_servers = {nodes[name]: server for name, server in servers.items() if name in nodes}

    def halves(self, nodes: Sequence[int], dateline: str) -> list[int]:  # noqa: ARG002
        """As `rings.find_halves`; here there is no ring, so 0."""
        return [0] * (len(nodes) - 1)

    @property
    def direct(self) -> bool:
        """Whether SIPs have direct links; else they are on the switch."""
        return self._network is not None

    def switch(self) -> int:
        """The node of the fabric switch. Errors: InputError for a machine whose SIPs have direct links."""
        return self._node("switch")

    def sip_link(self, sip: int, direction: str) -> int:
        """The node of a SIP's port of direct links in a direction, "E", "W", "S" or "N"."""
        return self._node(f"{sip_path(sip)}.io{self._link_chiplets.get(direction, 0)}.sip_link_{direction}")

    def crossings(self, src: int, dst: int) -> list[tuple[int, int]]:
        """The links between SIPs on the path from one node to another, as far as they are known: the two ends of each.

        They are those of direct links; on a switch those of the only PCIe endpoints, if SIPs have one each.
        """
        of = self.sip_of()
        start, end = int(of[src]), int(of[dst])
        if self._network is not None:
            return [
                (self.sip_link(leave, direction), self.sip_link(enter, OPPOSITE[direction]))
                for leave, direction, enter in self._network.hops(start, end)
            ]
        if start == end or min(start, end) < 0 or len(self.shape.io_sides) > 1:
            return []
        return [(self.pcie_ep(start), self.switch()), (self.switch(), self.pcie_ep(end))]

    def pcie_ep(self, sip: int, chiplet: int = 0) -> int:
        """The node of the PCIe endpoint of an IO chiplet, which the host talks to."""
        return self._node(f"{sip_path(sip)}.io{chiplet}.pcie_ep")

    def pcie_eps(self, sip: int) -> list[int]:
        """The nodes of all PCIe endpoints of a SIP."""
        return [self.pcie_ep(sip, chiplet) for chiplet in range(len(self.shape.io_sides))]

    def io_cpu(self, sip: int, chiplet: int = 0) -> int:
        """The node of the IO_CPU of an IO chiplet; the first one gets the commands of the host."""
        return self._node(f"{sip_path(sip)}.io{chiplet}.io_cpu")

    def m_cpu(self, sip: int, cube: int) -> int:
        """The node of a cube's M_CPU."""
        found = self._m_cpus.get((sip, cube))
        if found is None:
            found = self._m_cpus[sip, cube] = self._node(f"{cube_path(sip, cube)}.m_cpu")
        return found

    def io_noc(self, sip: int, chiplet: int = 0) -> int:
        """The node of the network of an IO chiplet."""
        return self._node(f"{sip_path(sip)}.io{chiplet}.io_noc")

    def io_ucie(self, sip: int, cube: int, chiplet: int = 0) -> int:
        """The node of the port of an IO chiplet beside a cube, which is counted along the chiplet's side of the SIP."""
        return self._node(f"{sip_path(sip)}.io{chiplet}.io_ucie{cube}")

    def ucie(self, sip: int, cube: int, side: str) -> int:
        """The node of a cube's die-to-die port; `side` is "N", "S", "E" or "W"."""
        return self._node(f"{cube_path(sip, cube)}.ucie_{side}")

    def router(self, sip: int, cube: int, name: str) -> int:
        """The node of a router of a cube's mesh, such as "r0c1"."""
        return self._node(f"{cube_path(sip, cube)}.{name}")

    def sram(self, sip: int, cube: int) -> int:
        """The node of a cube's SRAM."""
        return self._node(f"{cube_path(sip, cube)}.sram")

    def hbm(self, sip: int, cube: int, pe: int) -> int:
        """The node of the controller of a PE's HBM slice."""
        return self._node(f"{cube_path(sip, cube)}.hbm_ctrl.pe{pe}")

    def tcm(self, sip: int, cube: int, pe: int) -> int:
        """The node of a PE's TCM."""
        return self.pe(sip, cube, pe).tcm

    def address_of(self, sip: int, cube: int, space: MemorySpace, pe: int = 0, offset: int = 0) -> int:
        """The physical address of a byte. Errors: InputError for one that does not fit."""
        return Address(sip, cube, space, pe, offset).encode(self.shape.slice_bytes, self.sip_count)

    def memory_of(self, number: int) -> tuple[int, int, int]:
        """The memory of a physical address: its node, the offset in it, and the bytes from there to its end.

        Errors: InputError for an address without memory.
        """
        base = base_of(number, self.shape.slice_bytes)
        node, size = self._memories.get(base) or self._find_memory(number, base)
        offset = number - base
        if offset >= size:
            raise InputError(f"address {number:#x} is {offset:#x} in a memory of {size:#x} bytes")
        return node, offset, size - offset

    def _find_memory(self, number: int, base: int) -> tuple[int, int]:
        """The node and the size (bytes) of the memory with the first address `base`, which contains `number`."""
        found = decode(number, self.shape.slice_bytes, self.sip_count)
        sip, cube, pe, shape = found.sip, found.die, found.pe, self.shape
        if found.space == MemorySpace.HBM:
            memory = self.hbm(sip, cube, pe), shape.slice_bytes
        elif found.space == MemorySpace.PE:
            memory = self.tcm(sip, cube, pe), shape.tcm_bytes
        elif found.space == MemorySpace.SRAM:
            memory = self.sram(sip, cube), shape.sram_bytes
        else:
            raise InputError(f"address {number:#x} is in no memory: SIP {sip}, die {cube}, {found.space.name}")
        self._memories[base] = memory
        return memory

    def hbm_of(self, number: int) -> tuple[int, int]:
        """The controller of a physical HBM address, and the offset in its slice."""
        found = decode(number, self.shape.slice_bytes, self.sip_count)
        if found.space != MemorySpace.HBM:
            raise InputError(f"address {number:#x} is not in HBM: SIP {found.sip}, die {found.die}, {found.space.name}")
        return self.hbm(found.sip, found.die, found.pe), found.offset

    def cpu_server(self, node: int) -> int:
        """The server of a node that handles commands (pcie_ep, io_cpu, m_cpu)."""
        return self._cpu_servers[node]

    def pe(self, sip: int, cube: int, pe: int) -> PePlace:
        """All ids of a PE; the same object at each call."""
        found = self._pes.get((sip, cube, pe))
        if found is None:
            found = self._pes[sip, cube, pe] = self._make_pe(sip, cube, pe)
        return found

    def find_pe(self, path: str) -> tuple[int, int, int]:
        """(sip, cube, pe) of a path like "sip0.cube3.pe5"."""
        matched = _PE_PATH.fullmatch(path)
        if matched is None:
            raise InputError(f"got {path!r}, expected the path of a PE like 'sip0.cube3.pe5'")
        sip, cube, pe = (int(number) for number in matched.groups())
        self._check(sip, cube, pe)
        return sip, cube, pe

    def cube_of(self) -> np.ndarray:
        """int32[node] the number of the node's cube, counted over all SIPs; -1 outside cubes."""
        if self._cube_of is None:
            self._cube_of = np.full(len(self._nodes), -1, np.int32)
            for name, node in self._nodes.items():
                if matched := _CUBE_PATH.match(name):
                    self._cube_of[node] = int(matched[1]) * self.cubes_per_sip + int(matched[2])
        return self._cube_of

    def sip_of(self) -> np.ndarray:
        """int32[node] the number of the node's SIP; -1 outside SIPs."""
        if self._sip_of is None:
            self._sip_of = self._number_in(_SIP_PATH)
        return self._sip_of

    def chiplet_of(self) -> np.ndarray:
        """int32[node] the number of the node's IO chiplet in its SIP; -1 outside IO chiplets."""
        if self._chiplet_of is None:
            self._chiplet_of = self._number_in(_CHIPLET_PATH)
        return self._chiplet_of

    def _number_in(self, path: re.Pattern[str]) -> np.ndarray:
        """int32[node] the number that the names of nodes begin with, after a pattern; -1 for other names."""
        matches = map(path.match, self._nodes)
        return np.array([-1 if matched is None else int(matched[1]) for matched in matches], np.int32)

    def _make_pe(self, sip: int, cube: int, pe: int) -> PePlace:
        self._check(sip, cube, pe)
        at = f"{pe_path(sip, cube, pe)}.pe_"
        return PePlace(
            sip,
            cube,
            pe,
            router=self.router(sip, cube, self.shape.pe_routers[pe]),
            **{part: self._nodes[at + part] for part in PE_PARTS},
            **{f"{part}_server": self._servers[at + part] for part in ONE_SERVER},
            **{f"{part}_{way}": self._servers[f"{at}{part}.{way}"] for part in READ_WRITE for way in ("read", "write")},
        )

    def _node(self, name: str) -> int:
        found = self._nodes.get(name)
        if found is None:
            raise InputError(f"the machine has no {name}; {self._extent()}")
        return found

    def _check(self, sip: int, cube: int, pe: int) -> None:
        inside = 0 <= sip < self.sip_count and 0 <= cube < self.cubes_per_sip and 0 <= pe < self.pes_per_cube
        if not inside:
            raise InputError(f"the machine has no {pe_path(sip, cube, pe)}; {self._extent()}")

    def _extent(self) -> str:
        return (
            f"it has sip0 to sip{self.sip_count - 1}, each with cube0 to cube{self.cubes_per_sip - 1}, "
            f"each with pe0 to pe{self.pes_per_cube - 1}"
        )


SHAPE = SipShape
