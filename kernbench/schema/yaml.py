"""YAML reader: trees in which each value has its file, line and column.

PyYAML (its C parser if available) parses; scalars are resolved here, because PyYAML reads `1e9` as a text, `1:30` as 90
and `on` as True. A plain scalar is null, true, false, an integer, a float or a text; a quoted one is a text. Errors: a
key twice in one mapping, a tag, an alias that contains itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import yaml

from kernbench.characters import check_characters
from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.schema.guards import is_list, is_mapping

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MOST_DEPTH = 50
MOST_DIGITS = 1000  # of an integer
MOST_VALUES = 1_000_000
SHORT = 1 << 15  # letters of a file whose tree is kept
_INT = re.compile(r"[-+]?\d+(_\d+)*")
_HEX = re.compile(r"0x[0-9a-fA-F]+(_[0-9a-fA-F]+)*")
_FLOAT = re.compile(r"[-+]?(\d+(_\d+)*\.?\d*|\.\d+)([eE][-+]?\d+)?")
_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True, slots=True)
class Mark:
    """The place of a value: file, line and column from 1; line 0 for values outside of files."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Cited:
    """What a file says of a value beside it: where it is from, and between what ends it may be."""

    source: str
    range: Marked | None = None  # a list of two


@dataclass(frozen=True, slots=True)
class Marked:
    """A value of a tree: dict[str, Marked], list[Marked] or a scalar; `key` is the place of its key."""

    value: Any
    mark: Mark
    key: Mark | None = None
    cited: Cited | None = None

    def plain(self) -> Any:
        """The value without its marks."""
        if is_mapping(self.value):
            return {name: child.plain() for name, child in self.value.items()}
        if is_list(self.value):
            return [child.plain() for child in self.value]
        return self.value

    def children(self) -> Iterator[tuple[str | int, Marked]]:
        """The names or indices of its children, with the children."""
        if is_mapping(self.value):
            yield from self.value.items()
        elif is_list(self.value):
            yield from enumerate(self.value)


def load(path: Path | str) -> Marked:
    """The tree of a file. Errors: InputError with file:line:col if it is not YAML or cannot be read."""
    shown = show_path(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"{shown}: cannot be read: {reason}") from None
    tree = _parse_again(text, shown) if len(text) <= SHORT else parse(text, shown)
    if tree.value is None:
        raise InputError(f"{shown}: the file is empty, expected a mapping")
    return tree


@lru_cache(
    maxsize=64
)  # the sheets of a machine and a few topologies, which a sweep reads again for each of its machines
def _parse_again(text: str, file: str) -> Marked:
    """The tree of a text that may have been parsed before. Nobody changes a tree. Errors: as of `parse`."""
    return parse(text, file)


def parse(text: str, file: str) -> Marked:
    """The tree of a text; marks show `file`. An empty text is a null. Errors: InputError."""
    for number, line in enumerate(text.split("\n"), 1):
        check_characters(line, f"{file}:{number}: the line")
    try:
        _check_depth(text, file)
        loader: Any = _LOADER(text)
        try:
            node: yaml.Node | None = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        mark = Mark(file, at.line + 1, at.column + 1) if at else Mark(file)
        if "nesting depth" in (error.problem or ""):  # a limit of newer parsers, met while they look ahead
            raise _too_deep(mark) from None
        raise InputError(f"{mark}: not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{file}: not YAML: {' '.join(str(error).split())}") from None
    return Marked(None, Mark(file)) if node is None else _Reader(file).read(node)


def _check_depth(text: str, file: str) -> None:
    """Refuse what is nested so deeply that reading it would use up the stack. Errors: InputError, YAMLError."""
    depth = 0
    events = cast("Iterable[Any]", yaml.parse(text, _LOADER))  # pyright: ignore[reportUnknownMemberType]
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise _too_deep(Mark(file, event.start_mark.line + 1, event.start_mark.column + 1))


def _too_deep(mark: Mark) -> InputError:
    return InputError(f"{mark}: nested more than {MOST_DEPTH} deep; no input of kernbench needs that")


def mark_tree(value: object, mark: Mark) -> Marked:
    """The tree of a Python value, with one mark for all of it; a text stays a text."""
    if isinstance(value, Mapping):
        children = cast("Mapping[object, object]", value)
        return Marked({str(name): mark_tree(child, mark) for name, child in children.items()}, mark, mark)
    if isinstance(value, list | tuple):
        return Marked([mark_tree(child, mark) for child in cast("Sequence[object]", value)], mark, mark)
    if isinstance(value, str):
        check_characters(value, f"{mark}: the value")
    return Marked(value, mark, mark)


def scalar(text: str) -> object:
    """The value of a plain (unquoted) scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _HEX.fullmatch(text):
        return int(text, 16)
    return float(text) if _FLOAT.fullmatch(text) else text


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.open: set[int] = set()  # nodes being read: an alias to one of them contains itself
        self.count = 0

    def mark(self, node: yaml.Node) -> Mark:
        return Mark(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def read(self, node: yaml.Node, key: Mark | None = None) -> Marked:
        mark = self.mark(node)
        self.count += 1
        if self.count > MOST_VALUES:
            raise InputError(
                f"{mark}: more than {MOST_VALUES:,} values, those behind aliases counted each time; write fewer"
            )
        if not node.tag.startswith("tag:yaml.org,2002:"):
            raise InputError(f"{mark}: the tag {node.tag!r} is not known; remove it")
        if id(node) in self.open:
            raise InputError(f"{mark}: an alias contains itself")
        self.open.add(id(node))
        try:
            return Marked(self.value(node), mark, key)
        finally:
            self.open.discard(id(node))

    def value(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item) for item in node.value]
        if not isinstance(node, yaml.ScalarNode) or node.style:  # an escape of a quoted text gives any character
            return check_characters(node.value, f"{self.mark(node)}: the value")
        if len(node.value) > MOST_DIGITS and _INT.fullmatch(node.value):
            raise InputError(f"{self.mark(node)}: an integer of {len(node.value):,} digits; give at most {MOST_DIGITS}")
        return scalar(node.value)

    def mapping(self, node: yaml.MappingNode) -> dict[str, Marked]:
        found: dict[str, Marked] = {}
        for key_node, value_node in node.value:
            mark = self.mark(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                raise InputError(f"{mark}: a key is a word, got a collection")
            name = check_characters(key_node.value, f"{mark}: the key")
            if name in found:
                raise InputError(f"{mark}: the key {name!r} stands here and at line {_line(found[name])}; remove one")
            found[name] = self.read(value_node, mark)
        return found


def _line(child: Marked) -> int:
    return (child.key or child.mark).line
