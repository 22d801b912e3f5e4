"""A weight-stationary systolic array, in the place of the matrix engine that works at a rate.

The array holds `rows` x `columns` weights, a part of B. Rows of A are sent through one a cycle: the last of m rows has left
after m + rows + columns - 2 cycles, the fill and the drain. A product larger than the array takes several parts of B, one
after the other; a smaller one leaves cells idle. Operands of 8 bits go two a cell, those of 32 bits take two passes. Several
`arrays` share the parts.

To shift the weights of a part in takes a cycle for each of their rows. `between` says what of that a product pays:

* drain: cells hold two sets of weights and a part begins when the one before has left. The weights of a part come during the
  part before, which always takes more cycles than the array has rows, so they cost nothing.
* load: cells hold one set, and parts follow each other as one wave: the weights of the next part come behind the last row of
  A. A part takes m cycles and those of its weights; fill and drain overlap with the neighbouring parts.
* nothing: cells hold two sets and parts follow each other as one wave. A part takes m cycles, or those of the weights of the
  next part if they are more.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from kernbench.parts.part import Part, fs_per_unit
from kernbench.parts.prices import GemmPrices, Silicon
from kernbench.schema.fields import Count, Ghz

PASSES = {8: 0.5, 16: 1, 32: 2}  # through the array, by bits of the widest operand


class SystolicArray(Part):
    """`arrays` of `rows` x `columns` multiply-accumulate cells."""

    kind: ClassVar[str] = "pe_gemm"
    energy: GemmPrices = GemmPrices()
    silicon: Silicon = Silicon()
    rows: Count = Field(description="rows of the array")
    columns: Count = Field(description="columns of the array")
    arrays: Count = Field(description="arrays that share the parts of a product")
    clock_ghz: Ghz = Field(description="clock of the array")
    between: Literal["drain", "load", "nothing"] = Field(
        description="what comes between two parts of B: the array drains, weights are loaded, or nothing"
    )

    def figures(self) -> dict[str, float]:
        """Its parameters, with `cycle` in fs."""
        return {**super().figures(), "cycle": fs_per_unit(self.clock_ghz)}

    def product(self, m: int, k: int, n: int, bits: int) -> dict[str, float]:
        """The cycles of an (m, k) times (k, n) product."""
        parts = -(-k // self.rows) * -(-n // self.columns)
        return {"cycle": -(-parts // self.arrays) * self._part(m * PASSES[bits])}

    def _part(self, cycles: float) -> float:
        """The cycles of a part of B whose rows of A take so many."""
        if self.between == "drain":
            return cycles + self.rows + self.columns - 2
        return cycles + self.rows if self.between == "load" else max(cycles, self.rows)
