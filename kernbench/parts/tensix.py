"""Parts of a chip of Tensix cores: its two networks, its cores, its DRAM."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from kernbench.parts.derived import time_of, unit_of
from kernbench.parts.memory import MIB
from kernbench.parts.part import Part
from kernbench.parts.prices import MemoryPrices, PassPrices, Silicon, TensixPrices
from kernbench.schema.fields import (
    AverageCycles,
    Bytes,
    BytesPerCycle,
    Count,
    CountOrZero,
    CyclesOrZero,
    Gbs,
    Ghz,
    MessageBytes,
    Ns,
)

PRODUCT_PHASES = {"lofi": 1, "hifi2": 2, "hifi3": 3, "hifi4": 4}


class TensixNoc(Part):
    """One of a chip's two networks, in opposite directions, and its interfaces at cores and DRAM."""

    kind: ClassVar[str] = "tensix_noc"
    energy: PassPrices = PassPrices()
    silicon: Silicon = Silicon()
    gbs: Gbs = Field(description="bandwidth of a link between routers")
    hop_ns: Ns = Field(description="time of a hop from router to router, beside that of a flit on the link")
    interface_ns: Ns = Field(description="time between a router and an interface, beside that of a flit on the link")
    memory_ns: Ns = Field(
        description="time between an interface and the memory behind it, beside that of a flit on the link"
    )
    core_read_gbs: Gbs = Field(description="bandwidth from L1 to an interface of its core, which answers reads")
    core_write_gbs: Gbs = Field(description="bandwidth from an interface of a core to its L1")
    core_dram_gbs: Gbs = Field(
        description="bandwidth of an interface of a core to and from DRAM, each way, from however many banks"
    )
    dram_read_gbs: Gbs = Field(description="bandwidth from a bank to an interface of its DRAM, which answers reads")
    dram_write_gbs: Gbs = Field(description="bandwidth from an interface of DRAM to its bank")
    packet_bytes: MessageBytes = Field(description="most bytes of a packet")
    outstanding: Annotated[Count, Field(le=1024)] = Field(
        description="transactions of an interface under way at once, each way"
    )
    replies: Annotated[Count, Field(le=1024)] = Field(
        description="replies of an interface under way at once to requests that come by one port, in replays of traces"
    )
    reservation_ns: Ns = Field(
        description="time to reserve the links of a multicast before each packet, beside a hop for each of its longest way, in "
        "replays and measurements"
    )
    read_gap_ns: Ns = Field(
        description="least time from a packet that reads to the next of its interface, in measurements"
    )
    write_gap_ns: Ns = Field(
        description="least time from a packet that writes to the next of its interface, in measurements"
    )
    signal_bytes: MessageBytes = Field(description="bytes of a semaphore's update")


class TensixCore(Part):
    """A Tensix core: its processors, its L1 and its engines. Cycles are those of `clock_ghz`."""

    kind: ClassVar[str] = "tensix_core"
    energy: TensixPrices = TensixPrices()
    silicon: Silicon = Silicon()
    clock_ghz: Ghz = Field(description="clock of a core; its cycles are of this clock")
    cycle_fs = unit_of("clock_ghz")
    l1_bytes: Bytes = Field(description="size of L1")
    l1_gbs: Gbs = Field(description="bandwidth of L1")
    destination_bytes: Bytes = Field(description="size of the slots that one math object has")
    operation_cycles: AverageCycles = Field(description="cycles of an operation of a processor")
    multiply_cycles: AverageCycles = Field(description="cycles of a multiplication")
    local_cycles: AverageCycles = Field(description="cycles of a load from a processor's own memory")
    load_cycles: AverageCycles = Field(description="cycles of a load of a word of L1")
    store_cycles: AverageCycles = Field(description="cycles of a store of a word to L1")
    register_cycles: AverageCycles = Field(
        description="cycles of a look at a register: the state of a pipe, or the transactions that a barrier waits for"
    )
    transfer_operations: CountOrZero = Field(
        description="operations at the beginning of a transfer: addresses in L1, sizes in bytes"
    )
    transfer_loads: CountOrZero = Field(
        description="loads from a processor's own memory at the beginning of a transfer: where a pipe is"
    )
    buffer_operations: CountOrZero = Field(
        description="operations at the beginning of a transfer with a global buffer: what is left of its first page"
    )
    page_operations: CountOrZero = Field(
        description="operations to find the bank and the address of a page of a global buffer, and to go on to the next"
    )
    page_products: CountOrZero = Field(description="multiplications to find the bank of a page")
    page_loads: CountOrZero = Field(description="loads from tables of banks in a processor's own memory, of a page")
    read_registers: CountOrZero = Field(description="registers of an interface that a packet that reads sets")
    write_registers: CountOrZero = Field(description="registers of an interface that a packet that writes sets")
    move_registers: CountOrZero = Field(
        description="registers of an interface that the context of moves sets, and each move after it"
    )
    read_counters: CountOrZero = Field(description="counters in a processor's own memory of packets that read")
    write_counters: CountOrZero = Field(description="counters in a processor's own memory of packets that write")
    source_banks: Annotated[Count, Field(le=16)] = Field(description="operands that are unpacked ahead")
    unpack_bytes: BytesPerCycle = Field(description="rate of the unpackers of both operands together")
    pack_bytes: BytesPerCycle = Field(description="rate of the packers")
    fidelity: Literal["lofi", "hifi2", "hifi3", "hifi4"] = Field(
        description="phases of a product: lofi 1, hifi2 2, hifi3 3, hifi4 4"
    )
    matmul_cycles: AverageCycles = Field(
        description="cycles of a product of two tiles as matrices, at the lowest fidelity"
    )
    product_cycles: AverageCycles = Field(
        description="cycles of an elementwise product of tiles, at the lowest fidelity"
    )
    sum_cycles: AverageCycles = Field(description="cycles of an elementwise sum or difference of tiles")
    reduce_cycles: AverageCycles = Field(description="cycles of a reduction of a tile")
    copy_cycles: AverageCycles = Field(description="cycles of a copy of a tile to a slot")
    transpose_cycles: AverageCycles = Field(description="cycles of a transposition of a tile")
    lanes: Count = Field(description="lanes of the vector unit")
    simple_cycles: CyclesOrZero = Field(description="cycles of 32 lanes: load, one operation, store")
    iterated_cycles: CyclesOrZero = Field(description="cycles of 32 lanes: exponentials, reciprocals and roots")
    series_cycles: CyclesOrZero = Field(description="cycles of 32 lanes: polynomials of many terms")
    dispatch_ns: Ns = Field(
        default=0,
        description="time from the end of a program on all cores to the beginning of the next, in steps of networks",
    )
    dispatch_fs = time_of("dispatch_ns")

    def area_scale(self) -> tuple[float, str]:
        """MiB of L1."""
        return self.l1_bytes / MIB, ""

    def figures(self) -> dict[str, float]:
        """Its parameters, and the number of phases of a product at its fidelity."""
        return super().figures() | {"phases": float(PRODUCT_PHASES[self.fidelity])}


class TensixDram(Part):
    """The DRAM of a chip: each controller has some banks."""

    kind: ClassVar[str] = "tensix_dram"
    energy: MemoryPrices = MemoryPrices()
    silicon: Silicon = Silicon()
    bank_gbs: Gbs = Field(description="bandwidth of a bank")
    bank_bytes: Bytes = Field(description="size of a bank")
    burst_bytes: MessageBytes = Field(description="bytes that a bank serves at once")
    access_ns: Ns = Field(description="time of each access")
    access_fs = time_of("access_ns")
    banks: Annotated[Count, Field(le=16)] = Field(description="banks of a controller")

    def area_scale(self) -> tuple[float, str]:
        """GB/s of a bank."""
        return 1.0, "bank_gbs"

    def memory_bytes(self) -> int:
        """The size of a bank."""
        return self.bank_bytes
