"""A weight-stationary systolic array, in the place of the matrix engine that works at a rate.

The array holds `rows` x `columns` weights, a part of B. Rows of A are sent through one a cycle: the last of m rows has left
after m + rows + columns - 2 cycles, the fill and the drain. A product larger than the array takes several parts of B, one
after the other; a smaller one leaves cells idle. Operands of 8 bits go two a cell, those of 32 bits take two passes.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from kernbench.parts.part import Part, fs_per_unit
from kernbench.schema.fields import Count, Ghz

PASSES = {8: 0.5, 16: 1, 32: 2}  # through the array, by bits of the widest operand


class SystolicArray(Part):
    """`rows` x `columns` multiply-accumulate cells."""

    kind: ClassVar[str] = "pe_gemm"
    rows: Count = Field(description="rows of the array")
    columns: Count = Field(description="columns of the array")
    clock_ghz: Ghz = Field(description="clock of the array")

    def figures(self) -> dict[str, float]:
        """Its parameters, with `cycle` in fs."""
        return {**super().figures(), "cycle": fs_per_unit(self.clock_ghz)}

    def product(self, m: int, k: int, n: int, bits: int) -> dict[str, float]:
        """The cycles of an (m, k) times (k, n) product."""
        parts = -(-k // self.rows) * -(-n // self.columns)
        return {"cycle": parts * (m * PASSES[bits] + self.rows + self.columns - 2)}
