"""Documents as trees that can also be wrong: a mapping may have a key twice, and a scalar any spelling."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

_PLAIN = re.compile(r"[A-Za-z_][\w./-]*(?: [\w./-]+)*")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "nan", "inf"}


class Raw(str):
    """A scalar, or more, that is written as it stands."""

    __slots__ = ()


class Pairs(list[list[Any]]):
    """A mapping as [key, value] in their order."""

    __slots__ = ()


class Place(NamedTuple):
    """A value in a tree: the collection that holds it and the index there."""

    holder: list[Any]
    index: int

    @property
    def value(self) -> Any:
        """The value there; of a mapping's pair its value."""
        found = self.holder[self.index]
        return found[1] if isinstance(self.holder, Pairs) else found

    def put(self, value: Any) -> None:
        """Another value in its place."""
        if isinstance(self.holder, Pairs):
            self.holder[self.index] = [self.holder[self.index][0], value]
        else:
            self.holder[self.index] = value


def to_tree(value: Any) -> Any:
    """A tree of plain data."""
    if isinstance(value, dict):
        return Pairs([key, to_tree(child)] for key, child in value.items())
    if isinstance(value, list):
        return [to_tree(child) for child in value]
    return value


def parse_yaml(text: str) -> Any:
    """The tree of a YAML text."""
    return to_tree(yaml.safe_load(text))


def parse_json(text: str) -> Any:
    """The tree of a JSON text."""
    return to_tree(json.loads(text))


def copy(tree: Any) -> Any:
    """A tree that shares nothing with it."""
    if isinstance(tree, Pairs):
        return Pairs([key, copy(child)] for key, child in tree)
    return [copy(child) for child in tree] if isinstance(tree, list) else tree


def list_places(tree: Any, most_depth: int = 60) -> Iterator[Place]:
    """All places of a tree, from the outside in."""
    if isinstance(tree, list) and most_depth:
        for index in range(len(tree)):
            place = Place(tree, index)
            yield place
            yield from list_places(place.value, most_depth - 1)


def write_yaml(tree: Any) -> str:
    """The tree as YAML, a key or item a line."""
    if isinstance(tree, list) and tree:
        return "".join(f"{line}\n" for line in _lines(tree))
    return f"{_scalar(tree)}\n"


def _lines(tree: list[Any]) -> Iterator[str]:
    for entry in tree:
        head, child = (f"{_scalar(entry[0])}:", entry[1]) if isinstance(tree, Pairs) else ("-", entry)
        if isinstance(child, list) and child:
            yield head
            yield from (f"  {line}" for line in _lines(child))
        else:
            yield f"{head} {write_line(child)}"


def write_line(tree: Any) -> str:
    """The tree as YAML on one line."""
    if isinstance(tree, Pairs):
        return "{" + ", ".join(f"{_scalar(key)}: {write_line(child)}" for key, child in tree) + "}"
    return "[" + ", ".join(map(write_line, tree)) + "]" if isinstance(tree, list) else _scalar(tree)


def _scalar(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        return value if plain else json.dumps(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else {math.inf: ".inf", -math.inf: "-.inf"}.get(value, ".nan")
    if isinstance(value, list):
        return write_line(value)
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def write_json(tree: Any) -> str:
    """The tree as JSON; not-a-number and infinities as Python writes them."""
    if isinstance(tree, Raw):
        return str(tree)
    if isinstance(tree, Pairs):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {write_json(child)}\n" for key, child in tree) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(write_json, tree)) + "]"
    return json.dumps(tree, default=str)
