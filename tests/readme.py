"""The README as a script: its files, its commands with what they print, its Python.

A fenced block is one of three things. In a `console` block, lines that begin with "$ " are commands, and what follows a
command is what it prints. A block whose first line is a comment with a path (`# scale.py`) is that file. Any other
`python` block is run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"# ([\w./-]+\.(?:py|yaml))\n")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a reader does: `kind` is "file" (at `path`), "command" or "python"; `output` is what the README shows."""

    kind: str
    text: str
    path: str = ""
    output: str = ""


def read_steps(text: str) -> list[Step]:
    """The steps of a page, in order."""
    steps = []
    for language, body in _FENCE.findall(text):
        named = _PATH.match(body)
        if named:
            steps.append(Step("file", body, path=named[1]))
        elif language == "console":
            steps += _commands(body)
        elif language == "python":
            steps.append(Step("python", body))
    return steps


def _commands(body: str) -> list[Step]:
    steps = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        steps.append(Step("command", command, output=output.strip("\n")))
    return steps


def without_wall_time(text: str) -> list[str]:
    """The lines of an output, with what differs from one run to the next (seconds of wall time, spacing) made equal."""
    text = re.sub(r"\d+(\.\d+)? (s|ms)\b", "… s", text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]
