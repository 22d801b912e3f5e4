"""What computes: the matrix and the element-wise engine of a PE, at a rate for each width of operands."""

from __future__ import annotations

from typing import ClassVar

from kernbench.components.costs import GemmCosts, MathCosts
from kernbench.components.part import Part, fs_per_unit
from kernbench.schema.fields import ElementsPerNs, Tflops

FLOP_PER_NS = 1000  # of one TFLOPS


class PeGemm(GemmCosts, Part):
    """The matrix engine: a multiply-add is two flop; operands of 8, 16 and 32 bits go at rates of their own."""

    kind: ClassVar[str] = "pe_gemm"
    ports: ClassVar[tuple[str, ...]] = ("product",)
    tflops_f8: Tflops
    tflops_f16: Tflops
    tflops_f32: Tflops

    def figures(self) -> dict[str, float]:
        """Its parameters, with `flop_8`, `flop_16` and `flop_32` in fs."""
        rates = {8: self.tflops_f8, 16: self.tflops_f16, 32: self.tflops_f32}
        return {**super().figures(), **{f"flop_{bits}": fs_per_unit(r * FLOP_PER_NS) for bits, r in rates.items()}}


class PeMath(MathCosts, Part):
    """The element-wise engine, which also reduces; a reduction is paid by its input elements."""

    kind: ClassVar[str] = "pe_math"
    ports: ClassVar[tuple[str, ...]] = ("elements",)
    elements_f8: ElementsPerNs
    elements_f16: ElementsPerNs
    elements_f32: ElementsPerNs

    def figures(self) -> dict[str, float]:
        """Its parameters, with `element_8`, `element_16` and `element_32` in fs."""
        rates = {8: self.elements_f8, 16: self.elements_f16, 32: self.elements_f32}
        return {**super().figures(), **{f"element_{bits}": fs_per_unit(rate) for bits, rate in rates.items()}}
