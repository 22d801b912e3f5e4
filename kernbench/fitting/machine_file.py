"""The machine file of a fit: the topology with its new figures, each with its source and its range.

The text of the topology is kept, comments too: a section with a new figure is written again, others stay as they are. A file
in which that is not possible, since sections share a line or an anchor, is written again as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kernbench.errors import InputError
from kernbench.schema.guards import is_mapping
from kernbench.schema.topology import override
from kernbench.schema.yaml import Marked, load, parse

WIDTH = 128  # of a line


@dataclass(frozen=True, slots=True)
class NewFigure:
    """A figure of a machine file."""

    value: float
    unit: str
    range: tuple[float, float]
    source: str

    def to_yaml(self) -> dict[str, Any]:
        """As a field of a topology is written."""
        unit = {"unit": self.unit} if self.unit else {}
        return {"value": self.value, **unit, "range": list(self.range), "source": self.source}


def write_topology(topology: Path, overrides: Mapping[str, object], figures: Mapping[str, NewFigure], head: str) -> str:
    """The text of a topology with some figures, and overrides of others, written into it; `head` is a comment above it."""
    text = topology.read_text(encoding="utf-8")
    tree = load(topology)
    wanted: dict[str, Any] = tree.plain()
    for path, value in overrides.items():
        _set(wanted, path, override(path, value).plain())
    for path, figure in figures.items():
        _set(wanted, path, figure.to_yaml())
    changed = {path.partition(".")[0] for path in (*overrides, *figures)}
    comment = "".join(f"# {line}\n" for line in head.split("\n"))
    made = comment + _with_sections(text, tree, {name: wanted[name] for name in wanted if name in changed})
    return made if _reads_as(made, wanted) else comment + _dump(wanted)


def _set(tree: dict[str, Any], path: str, value: object) -> None:
    *sections, name = path.split(".")
    for section in sections:
        held = tree.get(section)
        tree[section] = tree = dict(held) if is_mapping(held) else {}
    tree[name] = value


def _with_sections(text: str, tree: Marked, sections: Mapping[str, object]) -> str:
    """A text with some top-level keys written again where they were, or at its end."""
    lines = text.splitlines()
    starts = {name: child.key.line - 1 for name, child in tree.value.items() if child.key is not None}
    ends = dict(zip(starts, [*list(starts.values())[1:], len(lines)], strict=True))
    for name in reversed(list(starts)):
        if name in sections:
            first, last = starts[name], ends[name]
            while last > first + 1 and (not lines[last - 1].strip() or lines[last - 1].startswith("#")):
                last -= 1  # what is above the next section belongs to it
            lines[first:last] = _dump({name: sections[name]}).splitlines()
    added = {name: value for name, value in sections.items() if name not in starts}
    return "\n".join(lines) + "\n" + (f"\n{_dump(added)}" if added else "")


def _reads_as(text: str, wanted: object) -> bool:
    try:
        return parse(text, "made").plain() == wanted
    except InputError:
        return False


def _dump(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=WIDTH, default_flow_style=None)
