"""What the actions of parts cost: the `energy` and `silicon` blocks of a model sheet.

`energy` has a price for each action of a part; its field has the name of the action with the unit behind it, so `flop_16_pj`
prices the amounts of `pe_gemm.flop_16`. `silicon` says what the part is made of. All fields may be missing: a part without a
figure is named where a run needs it, and never counts as 0.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kernbench.schema.fields import Mib, Mm2, Mw, Nm, Pj, PjPerByte, UsdPerGb
from kernbench.schema.model import Model

PRICE = "_pj"  # what the fields of prices end with


class Prices(Model):
    """The prices of the actions of a part; a part without actions has none."""

    @classmethod
    def actions(cls) -> list[str]:
        """The actions that have a price in a sheet of the part."""
        return [name.removesuffix(PRICE) for name in cls.model_fields]


class JobPrices(Prices):
    """A part that does jobs, such as decoding a command."""

    job_pj: Pj | None = Field(default=None, description="energy of each job")


class PassPrices(Prices):
    """A part that data passes through."""

    byte_pj: PjPerByte | None = Field(default=None, description="energy of each byte that passes")


class CrossingPrices(Prices):
    """A link between dies or packages: a crossing passes a port at either end."""

    crossing_byte_pj: PjPerByte | None = Field(
        default=None, description="energy of each byte that crosses, at both ends together"
    )


class EndpointPrices(CrossingPrices):
    """The endpoint of a link that also handles commands."""

    job_pj: Pj | None = Field(default=None, description="energy of each job")


class MemoryPrices(Prices):
    """A memory."""

    read_byte_pj: PjPerByte | None = Field(default=None, description="energy of each byte that is read")
    write_byte_pj: PjPerByte | None = Field(default=None, description="energy of each byte that is written")


class GemmPrices(Prices):
    """A matrix engine. An engine that is dropped in counts its flop whatever their bits, and cycles if it says so."""

    flop_8_pj: Pj | None = Field(
        default=None, description="energy of a flop on operands of 8 bits; a multiply-add is two"
    )
    flop_16_pj: Pj | None = Field(default=None, description="energy of a flop on operands of 16 bits")
    flop_32_pj: Pj | None = Field(default=None, description="energy of a flop on operands of 32 bits")
    flop_pj: Pj | None = Field(default=None, description="energy of a flop of an engine that is dropped in")


class MathPrices(Prices):
    """An element-wise engine."""

    element_8_pj: Pj | None = Field(default=None, description="energy of an element of 8 bits")
    element_16_pj: Pj | None = Field(default=None, description="energy of an element of 16 bits")
    element_32_pj: Pj | None = Field(default=None, description="energy of an element of 32 bits")


class PeCpuPrices(JobPrices):
    """The control processor of a PE."""

    cycle_pj: Pj | None = Field(default=None, description="energy of a cycle of its own work")


class DmaPrices(Prices):
    """A DMA engine."""

    transfer_pj: Pj | None = Field(default=None, description="energy of each transfer, beside that of its bytes")


class MmuPrices(Prices):
    """A unit that translates addresses."""

    tlb_pj: Pj | None = Field(default=None, description="energy of each translation")


class IpcqPrices(JobPrices):
    """The queues of a PE; slots in SRAM and HBM are priced by the byte, those in TCM as the TCM."""

    sram_byte_pj: PjPerByte | None = Field(default=None, description="energy of each byte to or from a slot in SRAM")
    hbm_byte_pj: PjPerByte | None = Field(default=None, description="energy of each byte to or from a slot in HBM")


class TensixPrices(MemoryPrices):
    """A Tensix core; bytes that are read and written are those of its L1 that pass its interfaces."""

    pass_flop_pj: Pj | None = Field(
        default=None, description="energy of a flop of a product of tiles, in each phase of its fidelity"
    )
    matrix_cycle_pj: Pj | None = Field(default=None, description="energy of a cycle of other work of the matrix unit")
    vector_cycle_pj: Pj | None = Field(default=None, description="energy of a cycle of the vector unit")
    unpack_byte_pj: PjPerByte | None = Field(
        default=None, description="energy of each byte that is unpacked, from L1 to a register of the engines"
    )
    pack_byte_pj: PjPerByte | None = Field(default=None, description="energy of each byte that is packed, back to L1")
    code_cycle_pj: Pj | None = Field(default=None, description="energy of a cycle of a processor")


class AicPrices(MemoryPrices):
    """A cube core; bytes that are read and written are those of its L1 that pass its link."""

    flop_16_pj: Pj | None = Field(default=None, description="energy of a flop on operands of 16 bits")
    operand_byte_pj: PjPerByte | None = Field(default=None, description="energy of each byte from L1 to L0A and L0B")
    product_byte_pj: PjPerByte | None = Field(default=None, description="energy of each byte out of L0C")


class AivPrices(MemoryPrices):
    """A vector core; bytes that are read and written are those of its UB that pass its link."""

    vector_byte_pj: PjPerByte | None = Field(default=None, description="energy of each byte that its vector unit takes")


class Silicon(Model):
    """What one part is made of. Its area is `area_mm2`, and `area_each_mm2` for each unit of its size or rate.

    `node_nm` is the technology that its figures are of, prices too; without it they hold for any, as those of memories and of
    links off the die do.
    """

    area_mm2: Mm2 | None = Field(default=None, description="area of the part whatever its size")
    area_each_mm2: Mm2 | None = Field(default=None, description="area of each MiB, TFLOPS of f16 or GB/s of the part")
    size_mib: Mib | None = Field(
        default=None,
        description="size that the prices of a memory are of, which go with the root of its size; none: they hold for any",
    )
    static_mw: Mw | None = Field(
        default=None, description="power while it does nothing, beside that of its area on a die; none: 0"
    )
    usd_gb: UsdPerGb | None = Field(default=None, description="price of a memory that is bought by its size")
    node_nm: Nm | None = Field(default=None, description="technology that the figures are of; none: they do not scale")
    bought: Literal["die", "package", "memory", "board"] = Field(
        default="die", description="what it is bought as a part of"
    )
