"""Field types by unit, with the range of values that each allows.

The limits are far beyond real hardware, and small enough that times in int64 femtoseconds do not overflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from kernbench import units


@dataclass(frozen=True, slots=True)
class Quantity:
    """Metadata of a number: it is read in `unit`, as a whole number if `whole`; `shown` is the unit in tables."""

    unit: str
    whole: bool = False
    label: str = ""  # for a unit that texts cannot carry, such as bytes a cycle
    bare: bool = True  # whether a number may stand without its unit

    @property
    def shown(self) -> str:
        """The unit for readers."""
        return self.label or self.unit

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema of the number, behind the reading of its text."""
        read = units.parse_count if self.whole else units.parse

        def checked(value: Any) -> Any:
            if not self.bare and units.is_bare(value):
                raise ValueError(f"got {value!r} without a unit; give one, as in '{value} {self.unit}'")
            return read(value, self.unit)

        return core_schema.no_info_before_validator_function(checked, handler(source))


Count = Annotated[int, Gt(0), Quantity("", whole=True)]
CountOrZero = Annotated[int, Ge(0), Quantity("", whole=True)]
Cycles = Annotated[int, Gt(0), Quantity("cycle", whole=True)]
CyclesOrZero = Annotated[int, Ge(0), Quantity("cycle", whole=True)]
AverageCycles = Annotated[float, Ge(0), Le(1e6), Quantity("cycle")]
BytesPerCycle = Annotated[int, Gt(0), Quantity("", whole=True, label="B/cycle")]
Bytes = Annotated[int, Gt(0), Le(2**40), Quantity("B", whole=True)]
BytesOrZero = Annotated[int, Ge(0), Le(2**50), Quantity("B", whole=True)]
MessageBytes = Annotated[int, Gt(0), Le(2**20), Quantity("B", whole=True)]
Ns = Annotated[float, Ge(0), Le(1e9), Quantity("ns")]
Gbs = Annotated[float, Ge(1e-3), Le(1e6), Quantity("GB/s")]  # the upper limit keeps the time of a flit above zero
Tflops = Annotated[float, Ge(1e-3), Le(1e9), Quantity("TFLOPS")]
ElementsPerNs = Annotated[float, Ge(1e-3), Le(1e9), Quantity("element/ns")]
Ghz = Annotated[float, Ge(1e-3), Le(1e6), Quantity("GHz")]
Mm = Annotated[float, Ge(0), Le(1e4), Quantity("mm")]
NsPerMm = Annotated[float, Ge(0), Le(1e3), Quantity("ns/mm")]
Pj = Annotated[float, Ge(0), Le(1e9), Quantity("pJ")]
PjPerByte = Annotated[float, Ge(0), Le(1e6), Quantity("pJ/B")]
PjPerByteMm = Annotated[float, Ge(0), Le(1e6), Quantity("pJ/B/mm")]
Mw = Annotated[float, Ge(0), Le(1e9), Quantity("mW")]
Mib = Annotated[float, Gt(0), Le(2**20), Quantity("MiB")]
WPerMm2 = Annotated[float, Ge(0), Le(1e3), Quantity("W/mm2")]
Mm2 = Annotated[float, Ge(0), Le(1e6), Quantity("mm2")]
Nm = Annotated[int, Gt(0), Quantity("nm", whole=True)]
Usd = Annotated[float, Ge(0), Le(1e9), Quantity("USD")]
UsdPerGb = Annotated[float, Ge(0), Le(1e6), Quantity("USD/GB")]
UsdPerMm2 = Annotated[float, Ge(0), Le(1e3), Quantity("USD/mm2")]
DefectsPerMm2 = Annotated[float, Ge(0), Le(1.0), Quantity("defect/mm2")]
