"""From a topology's name to a compiled machine.

The compile cache is keyed by the bytes of everything that is read (the topology, all sheets, the overrides, our own
sources), so a hit needs neither YAML nor the checker. Machines are kept in the process too: their routes are then found
once for all runs on them.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine import store
from kernbench.machine.machine import Machine

if TYPE_CHECKING:
    from kernbench.machine.families import Family
    from kernbench.spec.model import Model

IN_PROCESS = 8  # machines kept, latest first
_recent: OrderedDict[str, Machine] = OrderedDict()


def load_machine(topology: str | Path, overrides: Mapping[str, object] | None = None) -> Machine:
    """The machine of a topology by name or path, with fields set over it: `{"hbm.channel_gbs": "64 GB/s"}`.

    Errors: InputError for an unknown topology, sheet or field, or for figures that do not fit; one line for each.
    """
    path = library.find("topology", topology)
    overrides = dict(overrides or {})
    key = _key(path, overrides)
    machine = _recent.pop(key, None) or store.load(key)
    if machine is None:
        machine = compile_machine(path, overrides)
        store.save(key, machine)
    _recent[key] = machine
    while len(_recent) > IN_PROCESS:
        _recent.popitem(last=False)
    return machine


def load_spec(topology: str | Path, overrides: Mapping[str, object] | None = None) -> Model:
    """The checked fields of a topology and of all its sheets, without the machine. Errors: as `load_machine`."""
    return check_topology(library.find("topology", topology), dict(overrides or {}))[1]


def field_names(topology: str | Path) -> list[str]:
    """The dotted paths that overrides of a topology may set. Errors: InputError for an unknown topology or family."""
    from kernbench.machine.families import FAMILIES
    from kernbench.spec.model import leaf_paths
    from kernbench.spec.topology import family_of, load_tree

    tree = load_tree(library.find("topology", topology), {})
    return list(leaf_paths(FAMILIES[family_of(tree, FAMILIES)].spec))


def compile_machine(path: Path, overrides: Mapping[str, object]) -> Machine:
    """The machine of a topology file, checked and expanded anew."""
    family, spec = check_topology(path, overrides)
    digest = hashlib.sha256(f"{path.stem}\n{_sources()}\n{spec.model_dump_json()}".encode()).hexdigest()
    return family.expand(spec, path.stem, digest)


def check_topology(path: Path, overrides: Mapping[str, object]) -> tuple[Family, Model]:
    """The family of a topology file and its checked fields. Errors: as `load_machine`."""
    from kernbench.machine.families import FAMILIES
    from kernbench.spec.model import check, leaf_paths
    from kernbench.spec.topology import complete, family_of, load_tree

    tree = load_tree(path, overrides)
    family = FAMILIES[family_of(tree, FAMILIES)]
    tree, problems = complete(tree, family.kinds(), overrides, leaf_paths(family.spec))
    try:
        spec = check(family.spec, tree)
    except InputError as error:
        raise InputError("\n".join([*problems, str(error)])) from None
    if problems:
        raise InputError("\n".join(problems))
    return family, spec


def _key(path: Path, overrides: Mapping[str, object]) -> str:
    digest = hashlib.sha256(_sources().encode())
    digest.update(json.dumps([path.stem, sorted(overrides.items())], default=repr).encode())
    sheets = sorted(sheet for folder in library.folders("models") for sheet in folder.glob("*.yaml"))
    for file in (path, *sheets):
        text = file.read_bytes()
        digest.update(f"{file.name} {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()


@cache
def _sources() -> str:
    """A hash of all that turns a topology into a machine."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for folder in ("components", "machine", "spec"):
        for source in sorted((package / folder).glob("*.py")):
            digest.update(source.read_bytes())
    digest.update((package / "units.py").read_bytes())
    return digest.hexdigest()
