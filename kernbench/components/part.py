"""What all kinds of parts have in common.

A part's parameters come from its model sheet in `models/`; a topology may set single ones over it. Timing is rows and not
branches: what programs pay by are *figures*, numbers under "<part>.<figure>". Every numeric parameter is a figure under its
own name; what a program pays per unit is in femtoseconds and added by the part (`pe_gemm.flop_16`, `m_cpu.overhead`).
"""

from __future__ import annotations

from typing import ClassVar

from kernbench.spec.fields import Ns
from kernbench.spec.model import Model
from kernbench.units import FS_PER_NS


class Section(Model):
    """A group of fields of a topology whose numbers are figures."""

    def figures(self) -> dict[str, float]:
        """The figures of this group, by name without the group's."""
        return {name: value for name, value in self if isinstance(value, int | float) and not isinstance(value, bool)}


class Part(Section):
    """Base of all parts. `kind` is what the part's sheet must say."""

    kind: ClassVar[str]


class Delaying(Part):
    """A part that takes a fixed time for what passes through it or is begun by it."""

    overhead_ns: Ns

    def figures(self) -> dict[str, float]:
        """Its parameters, with `overhead` in fs."""
        return {**super().figures(), "overhead": self.overhead_fs}

    @property
    def overhead_fs(self) -> int:
        """The overhead in femtoseconds."""
        return round(self.overhead_ns * FS_PER_NS)


def fs_per_unit(rate_per_ns: float) -> float:
    """Femtoseconds for one of what is done at a rate per ns (a bandwidth in GB/s is a rate of bytes per ns)."""
    return FS_PER_NS / rate_per_ns
