"""`kernbench show` of collective algorithms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernbench import library
from kernbench.frontends.shown import Section, Shown
from kernbench.library import show_path
from kernbench.python_text import read_docstring
from kernbench.schema.yaml import load


def show_collective(name: str) -> Shown:
    """A collective algorithm: what its file says, and what ccl.yaml calls it. Errors: InputError."""
    file = library.find("benches/ccl", name)
    text = read_docstring(file)
    beside = file.with_name("ccl.yaml")
    entries: Mapping[str, Any] = load(beside).plain().get("algorithms", {}) if beside.is_file() else {}
    names = {entry: given for entry, given in entries.items() if given.get("module") == file.stem}
    description, _, rest = text.partition("\n")
    rows = [
        {"field": entry, "settings": ", ".join(f"{key}={value}" for key, value in given.items() if key != "module")}
        for entry, given in names.items()
    ]
    data = {"name": file.stem, "kind": "collective", "description": description, "file": str(file), "text": text,
            "entries": names, "fields": rows}  # fmt: skip
    sections = [Section("", rows, {"field": "in ccl.yaml", "settings": "settings"})] if rows else []
    return Shown(file.stem, "collective algorithm", description, show_path(file), sections, data, text=rest.strip())
