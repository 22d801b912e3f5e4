"""All that has a name: benches, machines, model sheets, sweeps and collective algorithms, with a line about each.

Of task graphs and collectives only the docstring is read. What cannot be read is a sentence beside the rest, never an end
of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernbench import library
from kernbench.errors import InputError
from kernbench.frontends.frontend import FrontEnd
from kernbench.frontends.registry import FRONT_ENDS, find_front_end, list_kinds
from kernbench.library import show_path
from kernbench.python_text import read_docstring
from kernbench.schema.guards import is_mapping

_PROGRAMS = list_kinds()
# The folders of kinds that are no programs, as `library` knows them.
_FOLDERS = {"machine": "topology", "sweep": "sweeps", "sheet": "models", "collective": "benches/ccl"}
TITLES = {
    "bench": _PROGRAMS["bench"].title,
    "machine": "machine",
    "sweep": "sweep",
    **{kind: one.title for kind, one in _PROGRAMS.items()},
    "sheet": "model sheet",
    "collective": "collective algorithm",
}
KINDS = tuple(TITLES)  # in the order of `kernbench list`
KEYS = {"machine": "topologies", "sweep": "sweeps", "pto": "pto", "sheet": "sheets", "collective": "collectives",
        "pattern": "patterns", "network": "networks"}  # fmt: skip  # of --json
SHOWN = ("bench", "network", "machine", "sweep", "pto")  # without words and --kind; the others are many


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
    """The entries of a kind by name, benches aside, and a sentence for each file that cannot be read.

    Errors: InputError for programs that are files without names.
    """
    program = _PROGRAMS.get(kind)
    folder = _FOLDERS[kind] if program is None else program.folder
    if program is not None and not folder:
        return _list_programs(kind, program), []
    entries: list[Entry] = []
    problems: list[str] = []
    replaced = library.list_replaced(folder)
    read = _docstring if library.SUFFIXES[folder] == ".py" else _description
    for name in library.list_names(folder):
        try:
            file = library.find(folder, name)
            entries.append(Entry(kind, name, read(file), file, name in replaced))
        except InputError as error:
            problems.append(str(error).splitlines()[0])
    return entries, problems


def _list_programs(kind: str, program: FrontEnd) -> list[Entry]:
    """Programs that have no folder. Errors: InputError where they have no names."""
    names = program.names()
    if not names:
        raise InputError(
            f"a {program.title} is a file ({', '.join(program.suffixes)}) without a name to list; kernbench show FILE shows one"
        )
    shown = [program.find(name).describe() for name in names]
    return [Entry(kind, one.name, one.description, Path(one.place)) for one in shown]


def has_names(kind: str) -> bool:
    """Whether things of a kind have names; else they are files alone."""
    return kind in _FOLDERS or bool(names_of(kind))


def names_of(kind: str) -> list[str]:
    """The names of a kind; of benches those that files declare by a constant name."""
    if kind in _FOLDERS:
        return library.list_names(_FOLDERS[kind])
    return [name for one in FRONT_ENDS.values() if one.kind == kind for name in one.names()]


def kinds_of_file(path: Path) -> list[str]:
    """The kinds that the content of a file can be. Errors: InputError for what is none that `show` knows."""
    program = find_front_end(path)
    if path.is_dir():
        if not program.folder:
            raise InputError(f"{show_path(path)} is a directory, and no bench of task graphs; give a file")
        return [program.kind]
    if path.suffix in program.suffixes:
        return [program.kind]
    if path.suffix != ".yaml":
        raise InputError(f"{show_path(path)} is no YAML, Python or program file (.yaml, .py, .json, .onnx); give one")
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
    return read_docstring(file).partition("\n")[0].rstrip(".")
