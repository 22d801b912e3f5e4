"""Parts of a chip of Tensix cores: its two networks, its cores, its DRAM."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from kernbench.components.derived import time_of, unit_of
from kernbench.components.part import Part
from kernbench.schema.fields import Bytes, Count, CountOrZero, Gbs, Ghz, MessageBytes, Ns

_Cycles = Annotated[float, Field(ge=0, le=1e6)]
PRODUCT_PHASES = {"lofi": 1, "hifi2": 2, "hifi3": 3, "hifi4": 4}


class TensixNoc(Part):
    """A network on chip, of which a chip has two in opposite directions, and its interfaces at cores and DRAM."""

    kind: ClassVar[str] = "tensix_noc"
    gbs: Gbs  # of a link between routers
    hop_ns: Ns
    interface_ns: Ns  # between a router and an interface
    memory_ns: Ns  # between an interface and the memory behind it
    core_gbs: Gbs  # of an interface of a core, in each direction
    dram_gbs: Gbs  # of an interface of DRAM
    packet_bytes: MessageBytes
    outstanding: Annotated[Count, Field(le=1024)]  # transactions of an interface, in each direction
    signal_bytes: MessageBytes  # of a semaphore's update


class TensixCore(Part):
    """A Tensix core: its processors, its L1 and its engines. Cycles are those of `clock_ghz`."""

    kind: ClassVar[str] = "tensix_core"
    clock_ghz: Ghz
    cycle_fs = unit_of("clock_ghz")
    l1_bytes: Bytes
    l1_gbs: Gbs
    destination_bytes: Bytes  # of the slots that one math object has
    operation_cycles: _Cycles  # of an operation of a processor
    issue_cycles: _Cycles  # of a transaction, until the next can be issued
    move_cycles: _Cycles  # of a move inside L1 whose context is set up
    load_cycles: _Cycles  # of a word of L1
    source_banks: Annotated[Count, Field(le=16)]  # of operands that are unpacked ahead
    unpack_bytes: Count  # a cycle, of each of two operands
    pack_bytes: Count  # a cycle
    fidelity: Literal["lofi", "hifi2", "hifi3", "hifi4"]
    matmul_cycles: _Cycles  # of a tile at the lowest fidelity
    product_cycles: _Cycles  # of an elementwise product of tiles at the lowest fidelity
    sum_cycles: _Cycles  # of an elementwise sum or difference of tiles
    reduce_cycles: _Cycles  # of a reduction of a tile
    copy_cycles: _Cycles  # of a tile to a slot
    transpose_cycles: _Cycles
    lanes: Count  # of the vector unit
    simple_cycles: CountOrZero  # of 32 lanes: load, one operation, store
    iterated_cycles: CountOrZero  # of 32 lanes: exponentials, reciprocals and roots
    series_cycles: CountOrZero  # of 32 lanes: polynomials of many terms

    def figures(self) -> dict[str, float]:
        """Its parameters, and the number of phases of a product at its fidelity."""
        return super().figures() | {"phases": float(PRODUCT_PHASES[self.fidelity])}


class TensixDram(Part):
    """The DRAM of a chip: each controller has some banks."""

    kind: ClassVar[str] = "tensix_dram"
    bank_gbs: Gbs
    bank_bytes: Bytes
    burst_bytes: MessageBytes
    access_ns: Ns
    access_fs = time_of("access_ns")
    banks: Annotated[Count, Field(le=16)]  # of a controller
