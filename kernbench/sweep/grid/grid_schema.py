"""A grid file as it is written: its keys, each checked for its own shape."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from kernbench.errors import shorten
from kernbench.limits.run_limits import read_op_limit, read_time_limit
from kernbench.schema.guards import is_list, is_mapping
from kernbench.schema.model import Model
from kernbench.sweep.grid.axis_schema import Scalar

DRAWN = ("random", "sobol", "latin", "optimise")  # methods that take samples of the space
SENSES = ("min", "max")
_FILE_NAME = re.compile(r"\w[\w .+-]{0,99}")


def _listed(value: Any) -> Any:
    return value if is_list(value) else [value]


def _groups(value: Any) -> Any:
    return [value] if is_list(value) and all(isinstance(name, str) for name in value) else value


def _senses(value: Any) -> Any:
    """`{latency_ns: min}` and `[min latency_ns]` are the same; so is a single text."""
    if is_mapping(value):
        return value
    senses: dict[str, str] = {}
    for text in _listed(value):
        sense, _, column = str(text).partition(" ")
        if sense not in SENSES or not column.strip():
            raise ValueError(f"got {text!r}, expected min or max and a column, such as 'min latency_ns'")
        if column.strip() in senses:
            raise ValueError(f"{column.strip()!r} stands in it twice")
        senses[column.strip()] = sense
    return senses


def _is_name(names: dict[str, Any]) -> dict[str, Any]:
    for name in names:
        if not name.isidentifier():
            raise ValueError(f"{name!r} is no name for a column; write letters, digits and _")
    return names


def _file_name(name: str) -> str:
    if not _FILE_NAME.fullmatch(name):
        raise ValueError(f"got {shorten(name)!r}, expected a name for a directory: letters, digits, spaces and . _ + -")
    return name


def _formula(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return repr(value)
    raise ValueError(f"got {value!r}, expected a formula")


TimeLimit = Annotated[Any, AfterValidator(read_time_limit)]
OpLimit = Annotated[Any, AfterValidator(read_op_limit)]
Texts = Annotated[list[str], BeforeValidator(_listed)]
Formula = Annotated[str, BeforeValidator(_formula)]


class GridSpec(Model):
    """A grid file as written."""

    name: Annotated[str, AfterValidator(_file_name)] | None = None
    description: str = ""
    method: Literal["grid", "random", "sobol", "latin", "optimise"] = "grid"
    samples: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    batch: Annotated[int, Field(ge=1, le=1024)] | None = None
    bench: str | None = None
    pattern: str | None = None
    topology: str = "sip_2x4x4"
    mode: str = "hybrid"
    time_limit: TimeLimit = None
    op_limit: OpLimit = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    zip: Annotated[list[list[str]], BeforeValidator(_groups)] = Field(default_factory=list[list[str]])
    constraints: Texts = Field(default_factory=list)
    where: Texts = Field(default_factory=list)
    exclude: Texts = Field(default_factory=list)
    derived: Annotated[dict[str, Formula], AfterValidator(_is_name)] = Field(default_factory=dict)
    objectives: Annotated[dict[str, Literal["min", "max"]], BeforeValidator(_senses)] = Field(default_factory=dict)
    error_bars: bool = False
    baseline: dict[str, Scalar] = Field(default_factory=dict)
