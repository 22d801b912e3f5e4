"""Part: the base class of all parts.

A part's parameters come from its model sheet in `models/`; a topology may override them. Times are data, not code: the
durations of programs are amounts of *figures*, numbers under "<part>.<figure>". Every numeric parameter is a figure under its
own name. The part adds figures in femtoseconds for one of something (`pe_gemm.flop_16`, `m_cpu.overhead`).

The machine uses a part only through its *ports*: attributes and methods by name. The classes of this package are the standard
parts. Another class with the ports of its kind may be dropped in beside a sheet (see `dropin`); it derives from the standard
class, or from `Part` with parameters of its own.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, TypeGuard

from pydantic import Field

from kernbench.parts.derived import Origin, list_derived, time_of
from kernbench.schema.fields import Ns
from kernbench.schema.model import Model
from kernbench.units import FS_PER_NS


class Section(Model):
    """A group of fields of a topology whose numbers are figures."""

    def figures(self) -> dict[str, float]:
        """The figures of this group, by their names within it."""
        return {name: value for name, value in self if is_number(value)}


class Part(Section):
    """Base of all parts. `kind` is the kind of its sheet, `ports` the attributes and methods that every part of the kind has.

    A port `x_fs` is a time in femtoseconds; `gbs` is the bandwidth of a link of the part; methods are described in `costs`.
    """

    kind: ClassVar[str]
    ports: ClassVar[tuple[str, ...]] = ()
    pays: ClassVar[tuple[str, ...]] = ()  # figures in durations of programs, besides those of ports and costs
    whole: ClassVar[bool] = False  # store-and-forward: it forwards nothing until it has the whole message

    def stores(self) -> bool:
        """Whether it is store-and-forward; else it is cut-through and forwards each flit as it comes."""
        return type(self).whole

    def area_scale(self) -> tuple[float, str]:
        """What its `silicon.area_each_mm2` is multiplied by: a number, and the rate of the part that it goes with, if any."""
        return 1.0, ""

    def size_bytes(self) -> int:
        """The size of a scratchpad, with whose root its prices go; 0 for any other part."""
        return 0

    def memory_bytes(self) -> int:
        """The size of a memory that is bought by it; 0 for what is on a die."""
        return 0

    def slots(self, way: str = "") -> int:  # noqa: ARG002
        """The number of jobs that are served at once; `way` is "read" or "write" if each has its own server."""
        return 1

    def figures(self) -> dict[str, float]:
        """Its numeric parameters, ports and derived times, a time `x_fs` as `x`; and `byte` (fs) if there is `gbs`."""
        names = (*type(self).ports, *list_derived(type(self)))
        times = {name.removesuffix("_fs"): getattr(self, name) for name in names}
        found = super().figures() | {name: plain(value) for name, value in times.items() if is_number(value)}
        return found | {"byte": fs_per_unit(found["gbs"])} if "gbs" in found else found

    @classmethod
    def origins(cls) -> dict[str, Origin]:
        """The origins of figures that follow from one parameter, by figure."""
        found = {name.removesuffix("_fs"): origin for name, origin in list_derived(cls).items()}
        return found | {"byte": Origin("gbs", 1)} if "gbs" in cls.model_fields else found

    @classmethod
    def rates(cls) -> list[str]:
        """The parameters that are bandwidths of links or channels."""
        return [port for port in cls.ports if port.endswith("gbs") and port in cls.model_fields]


class Delaying(Part):
    """A part with an overhead: a fixed time for each message that passes it, or each job that it begins."""

    ports: ClassVar[tuple[str, ...]] = ("overhead_fs",)
    overhead_ns: Ns = Field(description="fixed time of each message that passes, or of each job that begins")
    overhead_fs = time_of("overhead_ns")


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value can be a figure; numbers of numpy can."""
    return not isinstance(value, bool) and isinstance(value, Real)


def plain(value: Any) -> int | float:
    """A number as int or float."""
    return int(value) if isinstance(value, Integral) else float(value)


def fs_per_unit(rate_per_ns: float) -> float:
    """Femtoseconds for one thing at a rate per ns (a bandwidth in GB/s is a rate of bytes per ns)."""
    return FS_PER_NS / rate_per_ns
