"""Loading of machines: from the name of a topology to a compiled machine, through two caches.

The compile cache is keyed by the bytes of everything that is read (the topology, all sheets and drop-ins, the overrides, our
own sources), so a hit needs neither YAML nor the checker. A topology may also name a sheet by its path, which is unknown
before the topology is read. Machines keep the hashes of such files, and are compiled again when these change.

The latest machines are kept in the process too, so their routes are computed once for all runs on them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine.compile_cache import load_compiled, save_compiled
from kernbench.machine.machine import Machine
from kernbench.machine.overrides import read_overrides

if TYPE_CHECKING:
    from kernbench.machine.topology import ParsedTopology, Topology
    from kernbench.schema.model import Model

IN_PROCESS = 8  # machines kept, latest first
_recent: OrderedDict[str, Machine] = OrderedDict()


def load_machine(topology: str | Path, overrides: Mapping[str, object] | None = None) -> Machine:
    """The machine of a topology by name or path, with overrides of its fields: `{"hbm.channel_gbs": "64 GB/s"}`.

    The name that a field has in grids and tables, `topology.hbm.channel_gbs`, is taken too.

    Errors: InputError for an unknown topology, sheet or field, or for values that do not fit; a line for each.
    """
    path = library.find("topology", topology)
    overrides = read_overrides(overrides)
    key = _key(path, overrides)
    machine = _recent.pop(key, None) or load_compiled(key)
    if machine is None or machine.sources != _hash(machine.sources):
        machine = compile_machine(path, overrides)
        save_compiled(key, machine)
    machine.file, machine.overrides = path, overrides  # files of one content are one machine in the caches
    _recent[key] = machine
    while len(_recent) > IN_PROCESS:
        _recent.popitem(last=False)
    return machine


def load_spec(topology: str | Path, overrides: Mapping[str, object] | None = None) -> Model:
    """The checked fields of a topology and all its sheets, without the machine. Errors: as `load_machine`."""
    from kernbench.machine.topology import check_topology

    return check_topology(library.find("topology", topology), read_overrides(overrides)).spec


class TopologyLoader:
    """Loads one topology with various overrides.

    Its files are read once for each choice of sheets, and each set of overrides is checked once.
    """

    def __init__(self, topology: str | Path) -> None:
        self._path = library.find("topology", topology)
        self._read: dict[str, ParsedTopology] = {}  # by choice of sheets
        self._checked: dict[str, Topology | str] = {}  # by overrides; a string is the text of an error

    def load(self, overrides: Mapping[str, object]) -> Topology:
        """The checked topology. Errors: as `load_machine`."""
        key = repr(sorted(overrides.items()))
        if key not in self._checked:
            try:
                self._checked[key] = self._check(overrides)
            except InputError as error:
                self._checked[key] = str(error)
        found = self._checked[key]
        if isinstance(found, str):
            raise InputError(found)
        return found

    def _check(self, overrides: Mapping[str, object]) -> Topology:
        from kernbench.machine.topology import check_parsed, read_topology

        sheets = repr(sorted((path, value) for path, value in overrides.items() if path.startswith("parts.")))
        if sheets not in self._read:
            self._read[sheets] = read_topology(self._path, overrides)
        return check_parsed(self._read[sheets], overrides)


def field_names(topology: str | Path, overrides: Mapping[str, object] | None = None) -> list[str]:
    """The dotted paths that overrides of a topology may set, where `overrides` may choose the sheets of its parts.

    Errors: InputError for an unknown topology or family.
    """
    from kernbench.machine.topology import list_fields

    return list_fields(library.find("topology", topology), read_overrides(overrides))


def compile_machine(path: Path, overrides: Mapping[str, object]) -> Machine:
    """Check and expand a topology file, without the caches. Errors: as `load_machine`."""
    from kernbench.machine.families.registry import FAMILIES
    from kernbench.machine.sheets.prices import list_prices
    from kernbench.machine.topology import check_topology

    found = check_topology(path, overrides)
    text = "\n".join([path.stem, _sources(), found.content])
    machine = found.family.expand(found.spec, path.stem, hashlib.sha256(text.encode()).hexdigest())
    searched = {folder.resolve() for folder in library.folders("models")}
    outside = (
        file
        for sheet in found.sheets.values()
        if sheet.parent not in searched
        for file in (sheet, sheet.with_suffix(".py"))
    )
    prices = list_prices(found.spec, FAMILIES[found.family.name].parts(), found.family.dies.sizes(found.spec))
    machine = replace(machine, dropins=found.dropins, sources=_hash(map(str, outside)), prices=prices)
    machine.file, machine.overrides = path, overrides
    return machine


def model_files() -> list[Path]:
    """The sheets and drop-ins in all `models` folders, in a fixed order."""
    return [Path(file) for file in _model_files()]


def _model_files() -> list[str]:
    """The same as texts: each load of a machine reads all of them."""
    found: list[str] = []
    for folder in library.folders("models"):
        with suppress(OSError), os.scandir(folder) as entries:  # one that cannot be read has none, as for `find`
            found += [entry.path for entry in entries if entry.name.endswith((".yaml", ".py")) and _is_file(entry)]
    return sorted(found)


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False) or os.path.isfile(entry.path)


def _key(path: Path, overrides: Mapping[str, object]) -> str:
    """The hash of what is known to be read: the topology, the overrides, all files in `models` folders, our sources."""
    digest = hashlib.sha256(_sources().encode())
    digest.update(json.dumps([path.stem, sorted(overrides.items())], default=repr).encode())
    for file in (str(path), *_model_files()):
        try:
            with open(file, "rb", buffering=0) as opened:
                text = opened.read()
        except OSError as error:
            if file == str(path):
                raise InputError(f"{library.show_path(file)}: cannot be read: {error.strerror}") from None
            text = b""  # a sheet that cannot be read is an error where a topology names it
        digest.update(os.fsencode(file) + f" {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()


def _hash(files: Iterable[str]) -> dict[str, str]:
    """The hash of each file, "" for a file that is missing."""
    return {file: hashlib.sha256(Path(file).read_bytes()).hexdigest() if Path(file).is_file() else "" for file in files}


@cache
def _sources() -> str:
    """The hash of our sources that turn a topology into a machine."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for folder in ("machine", "parts", "schema"):
        for source in sorted((package / folder).rglob("*.py")):
            digest.update(source.read_bytes())
    digest.update((package / "units.py").read_bytes())
    return digest.hexdigest()
