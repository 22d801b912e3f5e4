"""Field types of figures: what a unit allows, in the field's own unit."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le
from pydantic import BeforeValidator

from kernbench import units


def _real(unit: str) -> BeforeValidator:
    return BeforeValidator(lambda figure: units.parse(figure, unit))


def _whole(unit: str) -> BeforeValidator:
    return BeforeValidator(lambda figure: units.parse_count(figure, unit))


Count = Annotated[int, Gt(0), _whole("")]
CountOrZero = Annotated[int, Ge(0), _whole("")]
Bytes = Annotated[int, Gt(0), _whole("B")]
BytesOrZero = Annotated[int, Ge(0), _whole("B")]
Ns = Annotated[float, Ge(0), Le(1e9), _real("ns")]
Gbs = Annotated[float, Ge(1e-3), Le(1e6), _real("GB/s")]  # so that a flit takes at least some femtoseconds
Tflops = Annotated[float, Gt(0), _real("TFLOPS")]
ElementsPerNs = Annotated[float, Gt(0), _real("element/ns")]
Ghz = Annotated[float, Gt(0), _real("GHz")]
Mm = Annotated[float, Ge(0), Le(1e4), _real("mm")]
NsPerMm = Annotated[float, Ge(0), _real("ns/mm")]
