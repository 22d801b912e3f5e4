"""All that has a name: benches, machines, model sheets, sweeps and collective algorithms, with a line about each.

Of task graphs and collectives only the docstring is read. What cannot be read is a sentence beside the rest, never an end
of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernbench import library
from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.runs.declared_benches import find_declared
from kernbench.schema.guards import is_mapping

# The folder of each kind, as `library` knows it, in the order of `kernbench list`.
KINDS = {
    "bench": "benches",
    "machine": "topology",
    "sweep": "sweeps",
    "pto": "benches/pto",
    "pto-sweep": "sweeps/pto",
    "sheet": "models",
    "collective": "benches/ccl",
}
TITLES = {
    "bench": "bench",
    "machine": "machine",
    "sweep": "sweep",
    "pto": "bench of task graphs",
    "pto-sweep": "sweep of task graphs",
    "sheet": "model sheet",
    "collective": "collective algorithm",
    "tanto-program": "Tanto program",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of a kind. `replaces` says that its file takes the place of a shipped one."""

    kind: str
    name: str
    description: str
    file: Path
    replaces: bool = False

    def matches(self, words: Iterable[str]) -> bool:
        """Whether all words are in its name, its kind or its description, whatever their case."""
        said = f"{self.kind} {self.name} {self.description}".lower()
        return all(word.lower() in said for word in words)


def list_entries(kind: str) -> tuple[list[Entry], list[str]]:
    """The entries of a kind by name, benches aside, and a sentence for each file that cannot be read."""
    entries: list[Entry] = []
    problems: list[str] = []
    replaced = library.list_replaced(KINDS[kind])
    read = _docstring if library.SUFFIXES[KINDS[kind]] == ".py" else _description
    for name in library.list_names(KINDS[kind]):
        try:
            file = library.find(KINDS[kind], name)
            entries.append(Entry(kind, name, read(file), file, name in replaced))
        except InputError as error:
            problems.append(str(error).splitlines()[0])
    return entries, problems


def names_of(kind: str) -> list[str]:
    """The names of a kind; of benches those that files declare by a constant name."""
    return library.list_names(KINDS[kind]) if kind != "bench" else list(find_declared())


def kinds_of_file(path: Path) -> list[str]:
    """The kinds that the content of a file can be. Errors: InputError for what is none that `show` knows."""
    if path.is_dir():
        if not (path / "kernel_config.py").is_file():
            raise InputError(f"{show_path(path)} is a directory, and no bench of task graphs; give a file")
        return ["pto"]
    if path.suffix == ".json":
        return ["tanto-program"]
    if path.suffix not in (".py", ".yaml"):
        raise InputError(f"{show_path(path)} is no YAML, Python or program file (.yaml, .py, .json); give one")
    if path.suffix == ".py":
        from kernbench.pto.bench import looks_like_bench

        return ["pto"] if looks_like_bench(path) else ["bench"]
    tree = _load(path)
    if "family" in tree:
        return ["machine"]
    return ["sheet"] if "kind" in tree else ["sweep"]


def _description(file: Path) -> str:
    tree = _load(file)
    said = str(tree.get("description", ""))
    return ", ".join(filter(None, (said, f"family {tree['family']}"))) if "family" in tree else said


def _load(file: Path) -> dict[str, object]:
    from kernbench.schema.yaml import load

    tree = load(file)
    plain = tree.plain()
    if not is_mapping(plain):
        raise InputError(f"{tree.mark}: expected a mapping")
    return plain


def _docstring(file: Path) -> str:
    try:
        said = ast.get_docstring(ast.parse(file.read_bytes())) or ""
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{show_path(file)}: cannot be read as Python: {error}") from None
    return said.partition("\n")[0].rstrip(".")
