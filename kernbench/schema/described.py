"""What a field of a model is, in words: type, unit, allowed values, default, meaning."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from kernbench.schema.fields import Quantity
from kernbench.schema.guards import is_list, is_mapping
from kernbench.schema.model import leaf_fields
from kernbench.units import format_bytes

_NAMES = {int: "whole number", float: "number", bool: "true or false", str: "text", Any: "value"}
SHEETS = "parts."  # what paths that choose sheets begin with


@dataclass(frozen=True, slots=True)
class DescribedField:
    """A field by its dotted path. `choices` are its values if these can be listed, `default` its default as in YAML."""

    path: str
    type: str
    unit: str
    allowed: str  # "1 to 64", "0 or more"; "" if any value of the type will do
    choices: tuple[str, ...]
    default: str | None  # None: a sheet or the topology gives the value
    meaning: str

    @property
    def values(self) -> str:
        """The values that may be set, in words."""
        if self.choices:
            return ", ".join(self.choices)
        return f"{self.type}, {self.allowed}" if self.allowed else self.type


def describe_fields(model: type[BaseModel]) -> list[DescribedField]:
    """All fields of a model that are not models themselves, in the order of their declarations."""
    return [_describe(path, field) for path, field in leaf_fields(model)]


def as_text(value: object) -> str:
    """A checked value in the form of YAML, in one line."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool | None):
        return {True: "true", False: "false", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.12g}"
    if is_list(value) or isinstance(value, tuple):
        return f"[{', '.join(as_text(one) for one in cast('tuple[object, ...]', value))}]"
    if isinstance(value, BaseModel):
        value = dict(value)
    if is_mapping(value):
        return f"{{{', '.join(f'{name}: {as_text(one)}' for name, one in value.items())}}}"
    return str(value)


def _describe(path: str, field: FieldInfo) -> DescribedField:
    bare, metadata = _bare(field.annotation, field.metadata)
    part = path.removeprefix(SHEETS)
    meaning = field.description or (f"the sheet of the part {part}, a name or a YAML file" if part != path else "")
    return DescribedField(
        path=path,
        type=_type(bare),
        unit=next((one.shown for one in _all_metadata(bare, metadata) if isinstance(one, Quantity)), ""),
        allowed=_range(metadata),
        choices=_choices(bare),
        default=None if field.is_required() else as_text(field.get_default(call_default_factory=True)),
        meaning=meaning,
    )


def _bare(annotation: Any, metadata: list[Any]) -> tuple[Any, list[Any]]:
    """An annotation without `| None` and `Annotated`, and all that these say about it."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        (annotation,) = (one for one in get_args(annotation) if one is not type(None))
        return _bare(annotation, metadata)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        flat = [entry for one in more for entry in (one.metadata if isinstance(one, FieldInfo) else [one])]
        return _bare(inner, [*flat, *metadata])
    return annotation, metadata


def _all_metadata(bare: Any, metadata: list[Any]) -> Iterator[Any]:
    """What is said about a value, then about its elements."""
    yield from metadata
    for one in get_args(bare) if get_origin(bare) in (list, tuple) else ():
        yield from _all_metadata(*_bare(one, []))


def _type(bare: Any) -> str:
    origin, arguments = get_origin(bare), get_args(bare)
    if origin is Literal or (isinstance(bare, type) and issubclass(bare, Enum)):
        return "word"
    if origin is list or (origin is tuple and arguments[-1] is Ellipsis):
        return f"[{_type(_bare(arguments[0], [])[0])}, ...]"
    if origin is tuple:
        return f"[{', '.join(_type(_bare(one, [])[0]) for one in arguments)}]"
    if isinstance(bare, type) and issubclass(bare, BaseModel):
        return f"mapping of {', '.join(bare.model_fields)}"
    return _NAMES[bare]


def _choices(bare: Any) -> tuple[str, ...]:
    if get_origin(bare) is Literal:
        return tuple(str(one) for one in get_args(bare))
    if isinstance(bare, type) and issubclass(bare, Enum):
        return tuple(str(one.value) for one in bare)
    return ("true", "false") if bare is bool else ()


def _range(metadata: list[Any]) -> str:
    """The bounds of a number in words; of several on one side the narrowest, as all hold."""
    quantity = next((one for one in metadata if isinstance(one, Quantity)), None)
    whole = quantity is not None and quantity.whole
    bounds: list[tuple[float, bool]] = [(float(cast("float", one.ge)), True) for one in metadata if isinstance(one, Ge)]
    bounds += [(float(cast("float", one.gt)) + whole, whole) for one in metadata if isinstance(one, Gt)]
    most = min((float(cast("float", one.le)) for one in metadata if isinstance(one, Le)), default=None)

    def show(bound: float) -> str:
        return format_bytes(bound) if quantity is not None and quantity.unit == "B" else f"{bound:,.12g}"

    if not bounds:
        return _lengths(metadata) if most is None else f"up to {show(most)}"
    least, itself = max(bounds, key=lambda bound: (bound[0], not bound[1]))
    low = show(least) if itself else f"above {show(least)}"
    if most is None:
        return f"{low} or more" if itself else low
    return f"{low} to {show(most)}"


def _lengths(metadata: list[Any]) -> str:
    least = max((one.min_length for one in metadata if isinstance(one, MinLen)), default=0)
    most = next((one.max_length for one in metadata if isinstance(one, MaxLen)), None)
    return f"{least} to {most} of them" if most else f"{least} of them or more" if least else ""
