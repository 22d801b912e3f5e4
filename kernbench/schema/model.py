"""Check of YAML trees against typed models: all errors at once, each with its place and what is expected.

`check` is generic: topologies, model sheets and sweep grids are all checked by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from kernbench.errors import InputError, find_nearest, shorten
from kernbench.schema.yaml import Mark, Marked


class Model(BaseModel):
    """Base of all checked models: frozen, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


M = TypeVar("M", bound=BaseModel)
_SHOULD = re.compile(r"^\w+ should (be|have) (a valid )?")  # in pydantic's messages


def check(model: type[M], tree: Marked) -> M:
    """The model of a tree. Errors: one InputError with a line for each mistake, in the order of the files."""
    try:
        return model.model_validate(tree.plain())
    except ValidationError as failure:
        found = [_sentence(model, tree, error) for error in failure.errors(include_url=False)]
    found.sort(key=lambda line: (line[0].file, line[0].line, line[0].column))
    raise InputError("\n".join(f"{mark}: {text}" for mark, text in found))


def _sentence(model: type[BaseModel], tree: Marked, error: Any) -> tuple[Mark, str]:
    unknown = list(error["loc"][-1:]) if error["type"] == "extra_forbidden" else []  # of any name
    path = [part for part in error["loc"][: len(error["loc"]) - len(unknown)] if not _is_tag(part)] + unknown
    node, depth = _walk(tree, path)
    name = ".".join(str(part) for part in path)
    kind = error["type"]
    mark = node.key if node.key and isinstance(node.value, dict) else node.mark
    if kind == "missing":
        return mark, f"{name}: missing; add it"
    if kind == "extra_forbidden":
        mark, text = node.key or node.mark, f"unknown field{_known(model, path)}"
        return mark, text if _names(mark, name) else f"{name}: {text}"
    got = node.plain() if depth == len(path) else error["input"]
    text = str(error.get("ctx", {}).get("error", "")) or f"got {shorten(repr(got))}, {_expected(error)}"
    return mark, f"{name}: {text}" if name and not _names(mark, name) else text


def _names(mark: Mark, field: str) -> bool:
    """Whether a mark outside of a file already names the field."""
    return not mark.line and mark.file.endswith(f" {field}")


def _is_tag(part: object) -> bool:
    return isinstance(part, str) and ("[" in part or "(" in part or part in ("str", "int", "float", "bool"))


def _walk(tree: Marked, path: list[Any]) -> tuple[Marked, int]:
    node = tree
    for depth, part in enumerate(path):
        child = dict(node.children()).get(part)
        if child is None:
            return node, depth
        node = child
    return node, len(path)


def _expected(error: Any) -> str:
    if error["type"] in ("model_type", "dict_type"):
        return "expected a mapping"
    message, changed = _SHOULD.subn("expected ", error["msg"].partition(" after validation")[0])
    return message if changed else message[:1].lower() + message[1:]


def _known(model: type[BaseModel], path: list[Any]) -> str:
    owner = _model_at(model, path[:-1])
    names = sorted(owner.model_fields) if owner else []
    if near := find_nearest(str(path[-1]), names):
        return f"; did you mean {near!r}?"
    return f"; known: {', '.join(names)}" if names else ""


def _model_at(model: type[BaseModel], path: list[Any]) -> type[BaseModel] | None:
    """The model at a path; keys of mappings and indices of lists lead to the model of the elements."""
    current = model
    for part in path:
        if part in current.model_fields:
            inner = next(_models_in(current.model_fields[part].annotation), None)
            if inner is None:
                return None
            current = inner
    return current


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def leaf_fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """The dotted path and the declaration of each field of a model that is not a model itself."""
    for name, field in model.model_fields.items():
        inner = next(_models_in(field.annotation), None)
        if inner is not None and isinstance(field.annotation, type):
            yield from leaf_fields(inner, f"{prefix}{name}.")
        else:
            yield prefix + name, field


def leaf_paths(model: type[BaseModel]) -> Iterator[str]:
    """The dotted paths of all fields of a model that are not models themselves."""
    return (path for path, _ in leaf_fields(model))
