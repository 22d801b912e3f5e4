"""Part: the base of all kinds of parts.

A part's parameters come from its model sheet in `models/`; a topology may set single ones over it. Timing is rows and not
branches: what programs pay by are *figures*, numbers under "<part>.<figure>". Every numeric parameter is a figure under its
own name; what a program pays per unit is in femtoseconds and added by the part (`pe_gemm.flop_16`, `m_cpu.overhead`).

What the rest of the machine asks of a kind are its *ports*: attributes and methods by name. The classes here give them from
plain figures; they are the standard implementations. Any other class with the ports of its kind will do, dropped in beside a
sheet (see `dropin`): it may derive from the standard one, or from `Part` with parameters of its own.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from kernbench.components.derived import Origin, list_derived, time_of
from kernbench.schema.fields import Ns
from kernbench.schema.model import Model
from kernbench.units import FS_PER_NS


class Section(Model):
    """A group of fields of a topology whose numbers are figures."""

    def figures(self) -> dict[str, float]:
        """The figures of this group, by name without the group's."""
        return {name: value for name, value in self if is_number(value)}


class Part(Section):
    """Base of all parts. `kind` is what the part's sheet must say, `ports` what the machine asks of every part of the kind.

    A port `x_fs` is a time in femtoseconds; `gbs` is the bandwidth of a link of the part; methods are described in `costs`.
    """

    kind: ClassVar[str]
    ports: ClassVar[tuple[str, ...]] = ()
    pays: ClassVar[tuple[str, ...]] = ()  # the figures that programs pay by, besides those of ports and costs
    whole: ClassVar[bool] = False  # it passes a message on when it has the whole of it

    def slots(self, way: str = "") -> int:  # noqa: ARG002
        """How many jobs are served at once; `way` is "read" or "write" where both are served side by side."""
        return 1

    def figures(self) -> dict[str, float]:
        """Its parameters, and its ports and derived times that are numbers, `x_fs` as `x`; with `gbs`, `byte` in fs."""
        names = (*type(self).ports, *list_derived(type(self)))
        times = {name.removesuffix("_fs"): getattr(self, name) for name in names}
        found = super().figures() | {name: plain(value) for name, value in times.items() if is_number(value)}
        return found | {"byte": fs_per_unit(found["gbs"])} if "gbs" in found else found

    @classmethod
    def origins(cls) -> dict[str, Origin]:
        """The parameter that each time among the figures follows from, by figure; none for a time of several parameters."""
        found = {name.removesuffix("_fs"): origin for name, origin in list_derived(cls).items()}
        return found | {"byte": Origin("gbs", 1)} if "gbs" in cls.model_fields else found

    @classmethod
    def rates(cls) -> list[str]:
        """The parameters that are bandwidths of links or channels."""
        return [port for port in cls.ports if port.endswith("gbs") and port in cls.model_fields]


class Delaying(Part):
    """A part that takes a fixed time for what passes through it or is begun by it."""

    ports: ClassVar[tuple[str, ...]] = ("overhead_fs",)
    overhead_ns: Ns
    overhead_fs = time_of("overhead_ns")


def is_number(value: object) -> bool:
    """Whether a value can be a figure; numpy's numbers can."""
    return isinstance(value, Real) and not isinstance(value, bool)


def plain(value: Any) -> int | float:
    """A number as Python's own."""
    return int(value) if isinstance(value, Integral) else float(value)


def fs_per_unit(rate_per_ns: float) -> float:
    """Femtoseconds for one of what is done at a rate per ns (a bandwidth in GB/s is a rate of bytes per ns)."""
    return FS_PER_NS / rate_per_ns
