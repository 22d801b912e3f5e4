"""Model sheets: one YAML file for each part, with a unit and a source for each parameter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from kernbench import library
from kernbench.errors import InputError
from kernbench.schema.model import Model, check
from kernbench.schema.yaml import Marked, load


class Parameter(Model):
    """One parameter of a part. A plain value is in `unit`; `source` cites its origin ("chosen: ..." without a publication)."""

    value: Any
    unit: str = ""
    source: str = Field(min_length=1)


class Sheet(Model):
    """The content of a file in `models/`."""

    kind: str
    description: str
    parameters: dict[str, Parameter] = Field(default_factory=dict)


def load_sheet(name: str, kind: str) -> tuple[Path, Marked]:
    """The file of a sheet, and its tree {parameter: value with unit}, which goes into the topology under the part's name.

    Errors: InputError for an unknown sheet, a parameter without a source, a sheet of another kind of part, or a class
    instead of a sheet.
    """
    path = library.find("models", name)
    if path.suffix == ".py":
        raise InputError(
            f"{library.show_path(path)} is a class; name the sheet beside it, {Path(name).with_suffix('.yaml')}"
        )
    tree = load(path)
    sheet = check(Sheet, tree)
    if sheet.kind != kind:
        mark = tree.value["kind"].mark
        raise InputError(f"{mark}: kind: got a sheet of {sheet.kind!r}, expected one of {kind!r}")
    empty = Marked({}, tree.mark)
    held = tree.value.get("parameters", empty).value
    values = {key: _with_unit(sheet.parameters[key], node) for key, node in held.items()}
    return path, Marked(values, tree.mark)


def _with_unit(parameter: Parameter, node: Marked) -> Marked:
    value: Marked = node.value["value"]
    if parameter.unit and isinstance(parameter.value, int | float):
        return Marked(f"{parameter.value!r} {parameter.unit}", value.mark, node.key)
    return Marked(value.value, value.mark, node.key)
