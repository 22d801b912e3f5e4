"""A case: one input of the command line, with the files and the environment that it meets."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """Arguments, files by their path in the working directory, and variables of the environment."""

    arguments: tuple[str, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    apart: bool = False  # in a process of its own: for what is read only once, such as most variables

    def write(self, folder: Path) -> None:
        """Write its files into a folder."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def to_json(self) -> str:
        """The case as a text; what is not UTF-8 is in base 64."""
        kept = {
            "arguments": list(self.arguments),
            "files": {name: _to_text(content) for name, content in self.files.items()},
            "environment": self.environment,
            "apart": self.apart,
        }
        return json.dumps({key: value for key, value in kept.items() if value or key == "arguments"}, indent=1) + "\n"

    @staticmethod
    def from_json(text: str) -> Case:
        """The case that `to_json` wrote."""
        kept = json.loads(text)
        return Case(
            tuple(kept["arguments"]),
            {name: _to_bytes(content) for name, content in kept.get("files", {}).items()},
            kept.get("environment", {}),
            kept.get("apart", False),
        )

    def describe(self) -> str:
        """The command and the names of its files, shortened."""
        words = " ".join(word if len(word) < 60 else f"{word[:40]}…({len(word)})" for word in self.arguments)
        files = ", ".join(f"{name} ({len(content)} bytes)" for name, content in self.files.items())
        told = f"kernbench {words}" + (f"  with {files}" if files else "")
        return told.encode("unicode_escape").decode() if not told.isprintable() else told


def _to_text(content: bytes) -> str | dict[str, str]:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _to_bytes(kept: str | dict[str, str]) -> bytes:
    return os.fsencode(kept) if isinstance(kept, str) else base64.b64decode(kept["base64"])
