"""What parameters of benches mean: the section `Parameters:` of a docstring, a line `name: meaning` each.

A line that is indented further goes on with the meaning before it. The section ends with the docstring, or at a line that is
indented as its heading is.
"""

from __future__ import annotations

import inspect
import re

HEADING = "Parameters:"
_ENTRY = re.compile(r"(\w+): *(.*)")


def split_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The text of a docstring without its parameters, and the meaning of each parameter."""
    text: list[str] = []
    meanings: dict[str, str] = {}
    inside, name = False, ""
    for line in inspect.cleandoc(docstring or "").splitlines():
        if line == HEADING:
            inside = True
        elif inside and line.startswith(" "):
            entry = _ENTRY.fullmatch(line.strip())
            if entry and _indent(line) <= 4:
                name, meanings[entry[1]] = entry[1], entry[2]
            elif name:
                meanings[name] += f" {line.strip()}"
        elif not inside or line:
            inside = False
            text.append(line)
    return "\n".join(text).strip(), meanings


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
