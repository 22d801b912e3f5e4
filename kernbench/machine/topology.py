"""A topology file, read and checked: its family, its fields, and which of its parts are somebody's own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernbench.components import dropin, ports
from kernbench.errors import InputError
from kernbench.machine.families import FAMILIES, Family
from kernbench.machine.machine import DropIn
from kernbench.schema.model import Model, check, leaf_paths
from kernbench.schema.topology import complete, family_of, load_tree, overlay
from kernbench.schema.yaml import Marked


@dataclass(frozen=True, slots=True)
class Topology:
    """What a topology file says, with the sheets of its parts and all overrides."""

    family: Family  # with the classes of its parts
    spec: Model
    dropins: Mapping[str, DropIn]  # by part
    sheets: tuple[Path, ...]

    @property
    def content(self) -> str:
        """A text that changes with everything the machine follows from, but for our own sources."""
        own = [f"{part} {self.dropins[part].sha256}" for part in sorted(self.dropins)]
        return "\n".join([self.spec.model_dump_json(), *own])

    @property
    def digest(self) -> str:
        """The digest of all that the topology says: its fields, its sheets and the texts of drop-ins."""
        return hashlib.sha256(self.content.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ParsedTopology:
    """A topology file with the sheets of its parts, not yet checked."""

    family: Family
    tree: Marked
    sheets: Mapping[str, Path]
    dropins: Mapping[str, Path]
    problems: list[str]


def check_topology(path: Path, overrides: Mapping[str, object]) -> Topology:
    """What a topology file says. Errors: InputError for all that is wrong with it, one line for each."""
    return check_parsed(read_topology(path, overrides), overrides)


def check_parsed(read: ParsedTopology, overrides: Mapping[str, object]) -> Topology:
    """What a topology says that was read with overrides that choose the same sheets. Errors: as `check_topology`."""
    tree, unknown = overlay(read.tree, overrides, leaf_paths(read.family.spec))
    problems = [*read.problems, *unknown]
    _check_ports(read, tree)
    try:
        spec = check(read.family.spec, tree)
    except InputError as error:
        raise InputError("\n".join([*problems, str(error)])) from None
    if problems:
        raise InputError("\n".join(problems))
    own = {
        part: DropIn(str(file), dropin.hash_file(file), getattr(spec, part).model_dump(mode="json"))
        for part, file in read.dropins.items()
    }
    return Topology(read.family, spec, own, tuple(read.sheets.values()))


def _check_ports(read: ParsedTopology, tree: Marked) -> None:
    """Ask the ports of all drop-ins whose parameters fit, before anything else does. Errors: as `ports.check`."""
    standard, classes = FAMILIES[family_of(tree, FAMILIES)].parts(), read.family.parts()
    for part in read.dropins:
        try:
            made = check(classes[part], tree.value[part])
        except InputError:
            continue  # told with all that is wrong with the topology
        ports.check(made, standard[part])


def list_fields(path: Path, overrides: Mapping[str, object]) -> list[str]:
    """The dotted paths that may be set where `overrides` choose the sheets. Errors: InputError for what cannot be read."""
    return list(leaf_paths(read_topology(path, overrides).family.spec))


def read_topology(path: Path, overrides: Mapping[str, object]) -> ParsedTopology:
    """A topology file with the sheets of its parts, and the family with the classes beside them. Errors: InputError."""
    tree = load_tree(path, overrides)
    family = FAMILIES[family_of(tree, FAMILIES)]
    tree, sheets, problems = complete(tree, family.kinds())
    dropins = {part: file for part, sheet in sheets.items() if (file := dropin.find_file(sheet))}
    standard = family.parts()
    classes = {part: dropin.load_class(file, standard[part]) for part, file in dropins.items()}
    return ParsedTopology(family.with_parts(classes), tree, sheets, dropins, problems)
