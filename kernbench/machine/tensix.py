"""The family `tensix`: a chip of Tensix cores, DRAM and Ethernet tiles at their places on two networks.

Each network is a torus whose links lead one way: the first goes east, then south, the second north, then west. A core has an
interface on each, and both lead to its L1. A DRAM bank is behind one of the ports of its controller, on both networks. The link
to a memory has a weight that no way over a network reaches, so no route passes through a memory to change the network.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from kernbench.components.tensix import TensixCore, TensixDram, TensixNoc
from kernbench.machine.builder import Builder
from kernbench.machine.intents import EdgeKind
from kernbench.machine.machine import Machine
from kernbench.machine.quantities import NO_TIME, list_figure_origins, rate, time
from kernbench.machine.tensix_places import (
    NETWORKS,
    TensixShape,
    bank_name,
    interface_name,
    l1_name,
    router_name,
    server_name,
)
from kernbench.schema.fields import Count, MessageBytes
from kernbench.schema.model import Model
from kernbench.units import FS_PER_NS

_Place = tuple[Annotated[int, Field(ge=0, le=63)], Annotated[int, Field(ge=0, le=63)]]
_Line = Annotated[int, Field(ge=0, le=63)]
_Side = Annotated[Count, Field(le=64)]
PITCH_MM = 1.0  # for pictures
_MEMORY_PENALTY = 10**9  # more than any way over a network
_EAST, _WEST, _SOUTH, _NORTH, _LOCAL = range(5)
ENGINES = ("unpack", "matrix", "vector", "pack")


class TensixPartNames(Model):
    """The sheets of the parts."""

    tensix_noc: str = "tensix_noc"
    tensix_core: str = "tensix_core"
    tensix_dram: str = "tensix_dram"


class TensixSpec(Model):
    """The fields of a topology of family `tensix`; places are (x, y) of the physical grid."""

    family: Literal["tensix"]
    description: str
    width: _Side
    height: _Side
    worker_columns: list[_Line] = Field(min_length=1)
    worker_rows: list[_Line] = Field(min_length=1)
    harvested_columns: tuple[_Line, ...] = ()
    harvested_rows: tuple[_Line, ...] = ()
    dram: list[list[_Place]] = Field(min_length=1)  # the ports of each controller
    bank_ports: list[_Line] = Field(min_length=1)  # the port of each bank of a controller
    ethernet: tuple[_Place, ...] = ()
    flit_bytes: MessageBytes
    parts: TensixPartNames = Field(default_factory=TensixPartNames)
    tensix_noc: TensixNoc
    tensix_core: TensixCore
    tensix_dram: TensixDram

    @property
    def columns(self) -> list[int]:
        """The physical column of each logical one."""
        return [x for x in self.worker_columns if x not in self.harvested_columns]

    @property
    def rows(self) -> list[int]:
        """The physical row of each logical one."""
        return [y for y in self.worker_rows if y not in self.harvested_rows]

    @model_validator(mode="after")
    def _fits(self) -> TensixSpec:
        if not self.columns or not self.rows:
            raise ValueError("all columns or all rows of workers are harvested; leave one of each")
        workers = {(x, y) for x in self.worker_columns for y in self.worker_rows}
        others = [place for ports in self.dram for place in ports] + list(self.ethernet)
        for x, y in [*sorted(workers), *others]:
            if x >= self.width or y >= self.height:
                raise ValueError(f"place ({x}, {y}) is outside of a grid of {self.width} x {self.height}")
        if clash := next((place for place in others if place in workers), None):
            raise ValueError(f"place {clash} is a worker's and a DRAM's or Ethernet's; give each place one part")
        if any(port >= len(ports) for port in self.bank_ports for ports in self.dram):
            raise ValueError("bank_ports names a port that a controller does not have")
        if len(self.bank_ports) != self.tensix_dram.banks:
            raise ValueError(
                f"bank_ports has {len(self.bank_ports)} entries, expected one for each of {self.tensix_dram.banks} banks"
            )
        return self


def expand_tensix(spec: TensixSpec, name: str, digest: str) -> Machine:
    """The machine of a checked topology of family `tensix`."""
    builder = Builder()
    routers = _networks(builder, spec)
    for y in spec.rows:
        for x in spec.columns:
            _worker(builder, spec, routers, x, y)
    for controller, ports in enumerate(spec.dram):
        for bank in range(spec.tensix_dram.banks):
            _bank(builder, spec, routers, controller * spec.tensix_dram.banks + bank, ports[spec.bank_ports[bank]])
    figures: dict[str, float] = {"zero": 0.0, "ns": float(FS_PER_NS)}
    for part in ("tensix_noc", "tensix_core", "tensix_dram"):
        figures |= {f"{part}.{figure}": value for figure, value in getattr(spec, part).figures().items()}
    shape = TensixShape(
        width=spec.width,
        height=spec.height,
        columns=tuple(spec.columns),
        rows=tuple(spec.rows),
        banks=len(spec.dram) * spec.tensix_dram.banks,
        dram=tuple(x + y * spec.width for ports in spec.dram for x, y in ports),
        ethernet=tuple(x + y * spec.width for x, y in spec.ethernet),
    )
    return builder.finish(
        name=name,
        family=spec.family,
        digest=digest,
        flit_bytes=spec.flit_bytes,
        ns_per_mm=0.0,
        figures=figures,
        origins=list_figure_origins(spec),
        shape=shape,
    )


def _fs(ns: float) -> int:
    return round(ns * FS_PER_NS)


def _networks(builder: Builder, spec: TensixSpec) -> dict[tuple[int, int, int], int]:
    """The routers of both networks by (network, x, y).

    Of equally long paths the one with the earlier last link wins: so the first network turns last into a column, the second
    into a row.
    """
    noc, places = spec.tensix_noc, [(x, y) for y in range(spec.height) for x in range(spec.width)]
    routers = {
        (network, x, y): builder.node(router_name(network, x, y), "router", (x * PITCH_MM, y * PITCH_MM))
        for network in range(NETWORKS)
        for x, y in places
    }
    hop = (_fs(noc.hop_ns), _fs(noc.hop_ns))
    down, right = (0, 1, (_SOUTH, _NORTH)), (1, 0, (_EAST, _WEST))
    for network, steps in ((0, (down, right)), (1, (right, down))):
        for dx, dy, ports in steps:
            for x, y in places:
                to = ((x + dx) % spec.width, (y + dy) % spec.height)
                if to == (x, y):
                    continue
                first, second = routers[network, x, y], routers[network, *to]
                builder.link(
                    second if network else first,
                    first if network else second,
                    EdgeKind.NOC,
                    rate(spec, "tensix_noc.gbs"),
                    um=round(1000 * PITCH_MM),
                    delays_fs=hop,
                    one_way=True,
                    ports=(ports[1], ports[0]) if network else ports,
                )
    return routers


def _interface(builder: Builder, spec: TensixSpec, router: int, name: str, at: tuple[float, float], port: str) -> int:
    """An interface beside its router, with a server for the reads that it has under way and one for the writes."""
    found, delay = builder.node(name, "interface", at), _fs(spec.tensix_noc.interface_ns)
    builder.link(router, found, EdgeKind.NOC, rate(spec, port), delays_fs=(delay, delay), ports=(_LOCAL, _LOCAL))
    return found


def _worker(builder: Builder, spec: TensixSpec, routers: dict[tuple[int, int, int], int], x: int, y: int) -> None:
    noc, at = spec.tensix_noc, (x * PITCH_MM, y * PITCH_MM)
    l1, delay = builder.node(l1_name(x, y), "l1", at), _fs(noc.memory_ns)
    for network in range(NETWORKS):
        name = interface_name(network, x, y)
        interface = _interface(builder, spec, routers[network, x, y], name, at, "tensix_noc.core_gbs")
        builder.link(
            interface,
            l1,
            EdgeKind.NOC,
            rate(spec, "tensix_core.l1_gbs"),
            penalty=_MEMORY_PENALTY,
            delays_fs=(delay, delay),
        )
        builder.server(f"{name}.read", "dma_read", noc.outstanding)
        builder.server(f"{name}.write", "dma_write", noc.outstanding)
    builder.memory(l1, stripes=1, rate=rate(spec, "tensix_core.l1_gbs"), quantum_bytes=16, overhead=NO_TIME)
    for engine in ENGINES:
        builder.server(server_name(engine, x, y), engine)


def _bank(
    builder: Builder, spec: TensixSpec, routers: dict[tuple[int, int, int], int], bank: int, place: tuple[int, int]
) -> None:
    noc, (x, y) = spec.tensix_noc, place
    at = (x * PITCH_MM, y * PITCH_MM)
    memory, delay = builder.node(bank_name(bank), "dram", at), _fs(noc.memory_ns)
    for network in range(NETWORKS):
        name = f"{bank_name(bank)}.niu{network}"
        interface = _interface(builder, spec, routers[network, x, y], name, at, "tensix_noc.dram_gbs")
        builder.link(
            interface,
            memory,
            EdgeKind.NOC,
            rate(spec, "tensix_noc.dram_gbs"),
            penalty=_MEMORY_PENALTY,
            delays_fs=(delay, delay),
        )
    dram = spec.tensix_dram
    builder.memory(
        memory,
        stripes=1,
        rate=rate(spec, "tensix_dram.bank_gbs"),
        quantum_bytes=dram.burst_bytes,
        overhead=time(spec, "tensix_dram.access_fs"),
    )
