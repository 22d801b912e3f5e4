"""Model sheets: one YAML file for each part, with a unit and a source for each parameter.

A field of a topology may be written in the same form, where it needs a source or a range of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, create_model, model_validator

from kernbench import library
from kernbench.errors import InputError
from kernbench.schema.guards import is_mapping
from kernbench.schema.model import Model, check
from kernbench.schema.yaml import Cited, Mark, Marked, load


class Parameter(Model):
    """One parameter of a part. A plain value is in `unit`; `source` cites its origin ("chosen: ..." without a publication).

    `range` is the least and the most that the value may really be, in `unit` too, of one that is not certain.
    """

    value: Any
    unit: str = ""
    range: Annotated[list[Any], Field(min_length=2, max_length=2)] | None = None
    source: str = Field(min_length=1)


class Figure(Parameter):
    """A figure of what a part costs: a number has a unit, since figures are published in many."""

    @model_validator(mode="after")
    def _number_has_unit(self) -> Figure:
        if not self.unit and isinstance(self.value, int | float):
            raise ValueError(f"got {self.value} without a unit; give one, as in `unit: pJ`")
        return self


class Sheet(Model):
    """The content of a file in `models/`."""

    kind: str
    description: str
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    energy: dict[str, Figure] = Field(default_factory=dict)
    silicon: dict[str, Figure] = Field(default_factory=dict)

    def items(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters by name, and the figures of its blocks as "energy.byte_pj"."""
        yield from self.parameters.items()
        for block in BLOCKS:
            yield from ((f"{block}.{name}", figure) for name, figure in getattr(self, block).items())


BLOCKS = ("energy", "silicon")  # of a sheet, beside its parameters: what the part costs


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
    for block in BLOCKS:
        if block in tree.value:
            figures, given = getattr(sheet, block), tree.value[block]
            values[block] = Marked(
                {key: _with_unit(figures[key], node) for key, node in given.value.items()}, given.mark, given.key
            )
    return path, Marked(values, tree.mark)


def read_cited(tree: Marked, paths: Iterable[str]) -> tuple[Marked, list[str]]:
    """A tree in which fields that are written as in a sheet have their bare values; and a sentence for each mistake.

    `paths` are the dotted paths of the fields.
    """
    problems: list[str] = []
    for path in paths:
        node = find_node(tree, path)
        if node is None or not is_mapping(node.value) or "value" not in node.value:
            continue
        try:
            named: dict[str, Any] = {path: (Parameter, ...)}  # so that sentences have the path
            made = check(create_model("Cited", __base__=Model, **named), Marked({path: node}, node.mark, node.key))
            tree = set_path(tree, path, _with_unit(getattr(made, path), node))
        except InputError as error:
            problems.append(str(error))
            tree = set_path(tree, path, node.value["value"])
    return tree, problems


def find_node(tree: Marked, path: str) -> Marked | None:
    """The node at a dotted path, if there is one."""
    node: Marked | None = tree
    for name in path.split("."):
        node = node.value.get(name) if node is not None and is_mapping(node.value) else None
    return node


def set_path(tree: Marked, dotted: str, value: Marked) -> Marked:
    """A copy of the tree with the value at a dotted path; missing mappings on the path are made."""
    name, _, rest = dotted.partition(".")
    held: dict[str, Marked] = tree.value if is_mapping(tree.value) else {}
    if rest:
        value = set_path(held.get(name, Marked({}, value.mark)), rest, value)
    return Marked({**held, name: value}, tree.mark, tree.key)


def _with_unit(parameter: Parameter, node: Marked) -> Marked:
    """The value of a parameter, a bare number with its unit, and what is said of it beside."""

    def quantity(given: Marked, key: Mark | None) -> Marked:
        if parameter.unit and isinstance(given.value, int | float):
            return Marked(f"{given.value!r} {parameter.unit}", given.mark, key)
        return Marked(given.value, given.mark, key)

    ends: Marked | None = node.value.get("range")
    if ends is not None and parameter.range is not None:
        ends = Marked([quantity(one, None) for one in ends.value], ends.mark, ends.key)
    made = quantity(node.value["value"], node.key)
    return replace(made, cited=Cited(parameter.source, ends if parameter.range is not None else None))
