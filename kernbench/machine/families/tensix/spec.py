"""The fields of a topology of family `tensix`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from kernbench.machine.network.flow_control_spec import FlowControlSpec
from kernbench.parts.port import MemoryPort, Port
from kernbench.parts.technology import Technology
from kernbench.parts.tensix import TensixCore, TensixDram, TensixNoc
from kernbench.schema.fields import Count, MessageBytes, Mm, Mm2
from kernbench.schema.limits import Limits
from kernbench.schema.model import Model

_Place = tuple[Annotated[int, Field(ge=0, le=63)], Annotated[int, Field(ge=0, le=63)]]
_Line = Annotated[int, Field(ge=0, le=63)]
_Side = Annotated[Count, Field(le=64)]


class TensixPartNames(Model):
    """The sheets of the parts."""

    tensix_noc: str = "tensix_noc"
    tensix_core: str = "tensix_core"
    tensix_dram: str = "tensix_dram"
    tensix_port: str = "tensix_port"
    tensix_memory_port: str = "tensix_memory_port"
    technology: str = "technology_12nm"


class TensixSpec(FlowControlSpec):
    """The fields of a topology of family `tensix`; places are (x, y) of the physical grid."""

    family: Literal["tensix"] = Field(description="the family of machines")
    description: str = Field(description="the machine in one line")
    width: _Side = Field(description="columns of the physical grid")
    height: _Side = Field(description="rows of the physical grid")
    worker_columns: list[_Line] = Field(min_length=1, description="physical columns of Tensix cores")
    worker_rows: list[_Line] = Field(min_length=1, description="physical rows of Tensix cores")
    harvested_columns: tuple[_Line, ...] = Field((), description="worker columns that are switched off")
    harvested_rows: tuple[_Line, ...] = Field((), description="worker rows that are switched off")
    dram: list[list[_Place]] = Field(min_length=1, description="places (x, y) of the ports of each DRAM controller")
    bank_ports: list[_Line] = Field(min_length=1, description="the port of each bank of a controller")
    ethernet: tuple[_Place, ...] = Field((), description="places (x, y) of Ethernet cores")
    flit_bytes: MessageBytes = Field(description="size of a flit")
    hop_mm: Mm = Field(1.0, description="length of a link between routers, for its energy")
    die_mm2: Mm2 | None = Field(None, description="size of the chip; none: as large as its parts")
    limits: Limits = Limits()
    parts: TensixPartNames = Field(default_factory=TensixPartNames)
    tensix_noc: TensixNoc
    tensix_core: TensixCore
    tensix_dram: TensixDram
    tensix_port: Port  # of routers and interfaces
    tensix_memory_port: MemoryPort
    technology: Technology

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


SPEC = TensixSpec
