"""Compute engines of a PE: matrix and element-wise, with a rate for each width of operands."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from kernbench.parts.costs import GemmCosts, MathCosts
from kernbench.parts.derived import unit_of
from kernbench.parts.part import Part
from kernbench.parts.prices import GemmPrices, MathPrices, Silicon
from kernbench.schema.fields import ElementsPerNs, Tflops

FLOP_PER_NS = 1000  # of one TFLOPS


class PeGemm(GemmCosts, Part):
    """The matrix engine, with a rate for operands of 8, 16 and 32 bits; a multiply-add is two flop."""

    kind: ClassVar[str] = "pe_gemm"
    ports: ClassVar[tuple[str, ...]] = ("product",)
    energy: GemmPrices = GemmPrices()
    silicon: Silicon = Silicon()
    tflops_f8: Tflops = Field(description="rate for operands of 8 bits; a multiply-add is two flop")
    tflops_f16: Tflops = Field(description="rate for operands of 16 bits; a multiply-add is two flop")
    tflops_f32: Tflops = Field(description="rate for operands of 32 bits; a multiply-add is two flop")
    flop_8_fs = unit_of("tflops_f8", FLOP_PER_NS)
    flop_16_fs = unit_of("tflops_f16", FLOP_PER_NS)
    flop_32_fs = unit_of("tflops_f32", FLOP_PER_NS)

    def area_scale(self) -> tuple[float, str]:
        """TFLOPS of 16 bits."""
        return 1.0, "tflops_f16"


class PeMath(MathCosts, Part):
    """The element-wise engine, which also reduces; the cost of a reduction is that of its input elements."""

    kind: ClassVar[str] = "pe_math"
    ports: ClassVar[tuple[str, ...]] = ("elements",)
    energy: MathPrices = MathPrices()
    silicon: Silicon = Silicon()
    elements_f8: ElementsPerNs = Field(description="rate for elements of 8 bits")
    elements_f16: ElementsPerNs = Field(description="rate for elements of 16 bits")
    elements_f32: ElementsPerNs = Field(description="rate for elements of 32 bits")
    element_8_fs = unit_of("elements_f8")
    element_16_fs = unit_of("elements_f16")
    element_32_fs = unit_of("elements_f32")
