"""Field types by unit, with the range of values that each allows.

The limits are far beyond real hardware, and small enough that times in int64 femtoseconds do not overflow.
"""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le
from pydantic import BeforeValidator

from kernbench import units


def _real(unit: str) -> BeforeValidator:
    return BeforeValidator(lambda value: units.parse(value, unit))


def _whole(unit: str) -> BeforeValidator:
    return BeforeValidator(lambda value: units.parse_count(value, unit))


Count = Annotated[int, Gt(0), _whole("")]
CountOrZero = Annotated[int, Ge(0), _whole("")]
Bytes = Annotated[int, Gt(0), Le(2**40), _whole("B")]
BytesOrZero = Annotated[int, Ge(0), Le(2**50), _whole("B")]
MessageBytes = Annotated[int, Gt(0), Le(2**20), _whole("B")]
Ns = Annotated[float, Ge(0), Le(1e9), _real("ns")]
Gbs = Annotated[float, Ge(1e-3), Le(1e6), _real("GB/s")]  # the upper limit keeps the time of a flit above zero
Tflops = Annotated[float, Ge(1e-3), Le(1e9), _real("TFLOPS")]
ElementsPerNs = Annotated[float, Ge(1e-3), Le(1e9), _real("element/ns")]
Ghz = Annotated[float, Ge(1e-3), Le(1e6), _real("GHz")]
Mm = Annotated[float, Ge(0), Le(1e4), _real("mm")]
NsPerMm = Annotated[float, Ge(0), Le(1e3), _real("ns/mm")]
