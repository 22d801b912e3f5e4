"""The fields of a topology of family `sip`: a tray of SIPs of cubes of PEs.

The layout of a cube is data: the number of routers, and which of them are left out, carry PEs or carry UCIe connections.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from kernbench.machine.address import HBM_BYTES, IO_CHIPLETS, PE_BYTES, PES
from kernbench.machine.families.sip.cube_mesh import MeshGrid, make_grid
from kernbench.machine.network.flow_control_spec import FlowControlSpec
from kernbench.parts.compute import PeGemm, PeMath
from kernbench.parts.fabric import IoNoc, Noc, PcieEp, SipLink, Switch, Ucie
from kernbench.parts.memory import Hbm, PeMmu, PeTcm, Sram
from kernbench.parts.part import Section
from kernbench.parts.port import MemoryPort, Port
from kernbench.parts.processor import IoCpu, MCpu, PeCpu, PeDma, PeFetchStore, PeIpcq, PeScheduler
from kernbench.parts.technology import Technology
from kernbench.parts.tiling import Tiling
from kernbench.schema.fields import Bytes, BytesOrZero, Count, MessageBytes, Mm, NsPerMm
from kernbench.schema.limits import Limits
from kernbench.schema.model import Model
from kernbench.text import plural

_GIVEN = (
    "rows",
    "cols",
    "origin_mm",
    "pitch_mm",
    "hole",
    "pe_routers",
    "ucie",
)  # fields of a mesh that is given router by router
_MADE = ("max_gap_mm", "hbm_mm", "connections")  # fields of a mesh that is derived, besides pe_mm
_ROUTER = re.compile(r"r(\d+)c(\d+)")


def parse_router(name: str) -> tuple[int, int]:
    """Row and column of a router's name. Errors: ValueError."""
    matched = _ROUTER.fullmatch(name)
    if matched is None:
        raise ValueError(f"got {name!r}, expected a router like 'r0c1'")
    return int(matched[1]), int(matched[2])


def _is_router(name: str) -> str:
    parse_router(name)
    return name


Router = Annotated[str, AfterValidator(_is_router)]
Position = tuple[Mm, Mm]


class Sips(Section):
    """The number of SIPs, their topology, and how they are wired: all to one switch, or by direct links in that topology."""

    count: Annotated[Count, Field(le=1024)] = Field(description="SIPs (packages)")
    topology: Literal["ring_1d", "torus_2d", "mesh_2d", "mesh_2d_no_wrap"] = Field(
        description="how collectives see the SIPs; mesh_2d is another name of torus_2d"
    )
    wiring: Literal["switch", "direct"] = Field(
        "switch", description="switch: one switch joins all; direct: neighbours in the topology have links"
    )
    gap_mm: Mm = Field(description="distance between packages, and to the switch")
    w: Count | None = Field(None, description="columns of the grid of SIPs; none: follows from count")
    h: Count | None = Field(None, description="rows of the grid of SIPs; none: follows from count")

    @property
    def grid_topology(self) -> str:
        """The topology; "mesh_2d" is another name of "torus_2d"."""
        return "torus_2d" if self.topology == "mesh_2d" else self.topology

    @model_validator(mode="after")
    def _grid_holds_all(self) -> Sips:
        self.grid()
        return self

    def grid(self) -> tuple[int, int]:
        """Width and height: as given, else one row for a ring and a square for the others. Errors: ValueError."""
        if self.w is not None and self.h is not None:
            if self.w * self.h != self.count:
                raise ValueError(f"got w {self.w} x h {self.h}, expected a product of count {self.count}")
            return self.w, self.h
        if self.w is not None or self.h is not None:
            raise ValueError("got one of w and h, expected both or none")
        side = math.isqrt(self.count)
        if self.topology == "ring_1d":
            return self.count, 1
        if side * side != self.count:
            raise ValueError(f"count {self.count} is not a square; give w and h for topology {self.topology!r}")
        return side, side


class Cubes(Section):
    """The mesh of cubes of a SIP."""

    w: Count = Field(description="columns of the mesh of cubes")
    h: Count = Field(description="rows of the mesh of cubes; 16 cubes at most")

    @model_validator(mode="after")
    def _dies_have_numbers(self) -> Cubes:
        if self.w * self.h > 16:
            raise ValueError(f"got {self.w} x {self.h} cubes, expected 16 at most: an address has no more")
        return self


class Sip(Section):
    """A SIP. Its IO chiplets are beside the sides of the mesh of cubes that `io_sides` names, which they take in turn."""

    cubes: Cubes
    gap_mm: Mm = Field(description="distance between neighbouring dies")
    io_chiplet_mm: Mm = Field(description="depth of an IO chiplet")
    io_chiplets: Annotated[Count, Field(le=IO_CHIPLETS)] = Field(1, description="IO chiplets of a SIP")
    io_sides: list[Literal["N", "S", "W", "E"]] = Field(
        default=["N"], min_length=1, description="sides of the mesh of cubes that the IO chiplets take in turn"
    )

    @model_validator(mode="after")
    def _chiplets_have_cubes(self) -> Sip:
        for side in self.io_sides:
            chiplets, cubes = self.sides.count(side), self.cubes.w if side in "NS" else self.cubes.h
            if chiplets > cubes:
                raise ValueError(
                    f"io_chiplets {self.io_chiplets} and io_sides {', '.join(self.io_sides)} put {chiplets} IO chiplets "
                    f"on side {side}, which has {plural(cubes, 'cube')}; give fewer, or more sides"
                )
        return self

    @property
    def sides(self) -> tuple[str, ...]:
        """The side of each IO chiplet."""
        return tuple(self.io_sides[chiplet % len(self.io_sides)] for chiplet in range(self.io_chiplets))


class Sides(Model):
    """The routers that carry a UCIe connection, by side."""

    N: list[Router] = Field(min_length=1)
    S: list[Router] = Field(min_length=1)
    W: list[Router] = Field(min_length=1)
    E: list[Router] = Field(min_length=1)


class Cube(Section):
    """A cube: a mesh of routers with a hole, and the positions of its other parts.

    The mesh is given router by router, or derived from the positions of the PEs (see `sip_mesh`).
    """

    width_mm: Mm = Field(description="width of a cube")
    height_mm: Mm = Field(description="height of a cube")
    pes: Count = Field(description="PEs of a cube: the first so many of pe_routers, or of pe_mm")
    m_cpu_mm: Position = Field(description="place of the management processor, which joins the nearest router")
    sram_mm: Position = Field(description="place of the SRAM, which joins the nearest router")
    rows: Annotated[Count, Field(le=64)] | None = Field(None, description="rows of routers")
    cols: Annotated[Count, Field(le=64)] | None = Field(None, description="columns of routers")
    origin_mm: Position | None = Field(None, description="place of router r0c0")
    pitch_mm: Position | None = Field(None, description="distances between columns and between rows")
    hole: list[Router] | None = Field(None, description="routers that are left out, where the HBM stands")
    pe_routers: list[Router] | None = Field(None, description="routers that carry a PE each, in order")
    ucie: Sides | None = Field(None, description="routers of each side that carry a UCIe connection each")
    pe_mm: list[Position] | None = Field(
        default=None, min_length=1, max_length=256, description="places of the PEs, from which the mesh is made"
    )
    max_gap_mm: Annotated[Mm, Field(ge=0.1)] | None = Field(
        None, description="largest distance of rows or columns of a mesh that is made; relays divide larger ones"
    )
    hbm_mm: tuple[Mm, Mm, Mm, Mm] | None = Field(
        None, description="left, top, right and bottom of the hole of a mesh that is made"
    )
    connections: Count | None = Field(None, description="UCIe connections of each side of a mesh that is made")

    @model_validator(mode="after")
    def _mesh_is_given_or_made(self) -> Cube:
        if self.pe_mm is None:
            self._have(_GIVEN, _MADE, "pe_mm")
            there = set(self.grid.routers())
            for field, names in (("pe_routers", self.grid.pe_routers), *self._sides()):
                self._check_routers(field, names, there)
            if len(self.grid.sides["N"]) != len(self.grid.sides["S"]) or len(self.grid.sides["W"]) != len(
                self.grid.sides["E"]
            ):
                raise ValueError("opposite sides of ucie differ in connections; name as many routers on either side")
        else:
            self._have(("max_gap_mm", "connections"), _GIVEN, "rows and the like")
            if max(len(self.grid.x_mm), len(self.grid.y_mm)) > 64:
                raise ValueError(f"max_gap_mm {self.max_gap_mm:g} takes more than 64 rows or columns; make it larger")
        if self.pes > len(self.grid.pe_routers):
            named = "pe_routers names" if self.pe_mm is None else "pe_mm places"
            more = "name more routers" if self.pe_mm is None else "place more"
            raise ValueError(f"pes is {self.pes} but {named} {len(self.grid.pe_routers)}; {more}")
        return self

    @cached_property
    def grid(self) -> MeshGrid:
        """The routers. Errors: ValueError for positions that do not fit."""
        if self.pe_mm is not None:
            return make_grid(self.pe_mm, self.max_gap_mm or 1.0, self.hbm_mm, self.connections or 1)
        (x, y), (dx, dy) = self.origin_mm or (0, 0), self.pitch_mm or (0, 0)
        return MeshGrid(
            tuple(x + dx * col for col in range(self.cols or 0)),
            tuple(y + dy * row for row in range(self.rows or 0)),
            frozenset(self.hole or ()),
            tuple(self.pe_routers or ()),
            {side: tuple(names) for side, names in self.ucie or ()},
        )

    def _have(self, needed: Iterable[str], unused: Iterable[str], other: str) -> None:
        missing = [name for name in needed if getattr(self, name) is None]
        if missing:
            raise ValueError(f"{', '.join(missing)} missing; give {'it' if len(missing) == 1 else 'them'}, or {other}")
        surplus = [name for name in unused if getattr(self, name) is not None]
        if surplus:
            raise ValueError(f"got {', '.join(surplus)} beside {', '.join(needed)}; a mesh is given or made from pe_mm")

    def _sides(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for side, names in self.grid.sides.items():
            yield f"ucie.{side}", names

    def _check_routers(self, field: str, names: Sequence[str], there: set[str]) -> None:
        for name in names:
            if name not in there:
                raise ValueError(f"{field} names {name!r}, which is outside {self.rows} x {self.cols} or in the hole")
        if len(set(names)) < len(names):
            raise ValueError(f"{field} names a router twice: {', '.join(names)}")


class Pe(Section):
    """The defaults of kernels: tile sizes and scratch memory."""

    tile_m: Count = Field(description="default rows of a tile in kernels")
    tile_k: Count = Field(description="default inner size of a tile in kernels")
    tile_n: Count = Field(description="default columns of a tile in kernels")
    scratch_bytes: Bytes = Field(description="part of TCM for what kernels compute")


class Mmu(Section):
    """The addresses in kernels (`model`: virtual, physical or logical), and the range of virtual ones."""

    model: Literal["va", "pa", "la"] = Field(
        "va", description="addresses in kernels: va virtual, pa physical, la logical"
    )
    page_bytes: Bytes = Field(description="size of a page")
    va_base: BytesOrZero = Field(description="first virtual address; a multiple of page_bytes")
    va_bytes: Bytes = Field(description="size of the range of virtual addresses; a multiple of page_bytes")
    entry_bytes: MessageBytes = Field(
        16, description="size of a region in a mapping message or in the table of a launch"
    )

    @model_validator(mode="after")
    def _range_is_of_pages(self) -> Mmu:
        for field, value in (("va_base", self.va_base), ("va_bytes", self.va_bytes)):
            if value % self.page_bytes:
                raise ValueError(f"{field} {value} is not a multiple of page_bytes {self.page_bytes}; change one")
        return self


class Command(Section):
    """The messages that launch kernels and report their completion."""

    bytes: MessageBytes = Field(description="size of a launch or of a completion on the fabric")


class PartNames(Model):
    """The sheet of each part, by name; a part without an entry has the sheet of its own name."""

    noc: str = "noc"
    ucie: str = "ucie"
    io_noc: str = "io_noc"
    pcie_ep: str = "pcie_ep"
    switch: str = "switch"
    sip_link: str = "sip_link"
    hbm: str = "hbm"
    sram: str = "sram"
    io_cpu: str = "io_cpu"
    m_cpu: str = "m_cpu"
    pe_cpu: str = "pe_cpu"
    pe_scheduler: str = "pe_scheduler"
    pe_dma: str = "pe_dma"
    pe_fetch_store: str = "pe_fetch_store"
    pe_gemm: str = "pe_gemm"
    pe_math: str = "pe_math"
    pe_tcm: str = "pe_tcm"
    pe_mmu: str = "pe_mmu"
    pe_ipcq: str = "pe_ipcq"
    tiling: str = "tiling"
    technology: str = "technology"
    noc_port: str = "noc_port"
    ucie_port: str = "ucie_port"
    io_port: str = "io_port"
    memory_port: str = "memory_port"


class SipSpec(FlowControlSpec):
    """A checked topology of family `sip`, with the sheets of its parts."""

    family: Literal["sip"] = Field(description="the family of machines")
    description: str = Field(description="the machine in one line")
    flit_bytes: MessageBytes = Field(description="size of a flit; a multiple of hbm.burst_bytes")
    ns_per_mm: NsPerMm = Field(description="propagation on a wire")
    sips: Sips
    sip: Sip
    cube: Cube
    pe: Pe
    mmu: Mmu
    command: Command
    limits: Limits = Limits()
    die_area: Literal["outline", "parts"] = Field(
        "outline", description="what is bought of a die: its outline, or an area as large as its parts together"
    )
    parts: PartNames = PartNames()
    noc: Noc
    ucie: Ucie
    io_noc: IoNoc
    pcie_ep: PcieEp
    switch: Switch
    sip_link: SipLink
    hbm: Hbm
    sram: Sram
    io_cpu: IoCpu
    m_cpu: MCpu
    pe_cpu: PeCpu
    pe_scheduler: PeScheduler
    pe_dma: PeDma
    pe_fetch_store: PeFetchStore
    pe_gemm: PeGemm
    pe_math: PeMath
    pe_tcm: PeTcm
    pe_mmu: PeMmu
    pe_ipcq: PeIpcq
    tiling: Tiling
    technology: Technology
    noc_port: Port
    ucie_port: Port
    io_port: Port
    memory_port: MemoryPort

    @model_validator(mode="after")
    def _addresses_reach(self) -> SipSpec:
        if self.cube.pes * self.hbm.slice_bytes > HBM_BYTES:
            raise ValueError(
                f"{self.cube.pes} PEs with hbm.slice_bytes {self.hbm.slice_bytes} are more than the {HBM_BYTES} bytes "
                "of a cube's addresses; change one"
            )
        for field, value, most in (
            ("cube.pes", self.cube.pes, PES),
            ("pe_tcm.bytes", self.pe_tcm.bytes, PE_BYTES),
            ("sram.bytes", self.sram.bytes, HBM_BYTES),
        ):
            if value > most:
                raise ValueError(f"{field} is {value}, but addresses reach {most} at most; make it smaller")
        return self

    @model_validator(mode="after")
    def _flits_hold_bursts(self) -> SipSpec:
        if self.hbm.slice_bytes % self.hbm.burst_bytes:
            raise ValueError(
                f"hbm.slice_bytes {self.hbm.slice_bytes} is not a multiple of hbm.burst_bytes {self.hbm.burst_bytes}; "
                "change one"
            )
        if self.flit_bytes % self.hbm.burst_bytes:
            raise ValueError(
                f"flit_bytes {self.flit_bytes} is not a multiple of hbm.burst_bytes {self.hbm.burst_bytes}; change one"
            )
        return self


SPEC = SipSpec
