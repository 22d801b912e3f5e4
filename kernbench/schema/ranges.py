"""Ranges of fields: the least and the most that a figure may really be, where a sheet or a topology says so.

`range: [30, 50]` is beside the value, in its unit. Both ends must be values that the field may have, and the value lies
between them. An override of the field is a value that somebody is sure of, so it has no range.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, create_model

from kernbench.errors import InputError
from kernbench.schema.model import Model, check, leaf_fields
from kernbench.schema.sheet import find_node
from kernbench.schema.yaml import Marked

Range = tuple[float, float]


def read_ranges(spec: BaseModel, tree: Marked) -> dict[str, Range]:
    """The ranges in a checked tree, by the dotted path of the field, in the unit of the field.

    Errors: InputError with a line for each range that cannot be one.
    """
    found: dict[str, Range] = {}
    problems: list[str] = []
    for path, _ in leaf_fields(type(spec)):
        node = find_node(tree, path)
        if node is None or node.cited is None or node.cited.range is None:
            continue
        try:
            found[path] = _read(spec, path, node.cited.range)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    return found


def _read(spec: BaseModel, path: str, ends: Marked) -> Range:
    *sections, name = path.split(".")
    shown = f"{path}.range"
    owner: BaseModel = spec
    for section in sections:
        owner = getattr(owner, section)
    value = getattr(owner, name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{ends.mark}: {path}: a range is of a number, and this field is {value!r}")
    low, high = getattr(check(_ends_of(type(owner), name, shown), Marked({shown: ends}, ends.mark)), shown)
    if not low <= value <= high or low == high:
        raise InputError(
            f"{ends.mark}: {path}: got the range {low:.12g} to {high:.12g}, and the value is {value:.12g}; "
            "give the least and the most that it may be, with the value between them"
        )
    return float(low), float(high)


@lru_cache(maxsize=256)
def _ends_of(owner: type[BaseModel], name: str, shown: str) -> type[Model]:
    """A model whose field `shown` has two values of a field, with all that is asked of it."""
    field = owner.model_fields[name]
    declared: Any = (field.annotation, *field.metadata)
    one: Any = Annotated[declared] if field.metadata else field.annotation
    ends: dict[str, Any] = {shown: (tuple[one, one], ...)}
    return create_model("Ends", __base__=Model, **ends)
