"""Reading and checking of a topology file: its family, its fields, and the drop-ins among its parts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernbench.errors import InputError, error_text
from kernbench.machine.families.registry import FAMILIES, Family
from kernbench.machine.machine import DropIn
from kernbench.parts import dropin, ports
from kernbench.schema.model import Model, check, leaf_paths
from kernbench.schema.ranges import read_ranges
from kernbench.schema.sheet import read_cited
from kernbench.schema.topology import complete, family_of, load_tree, overlay
from kernbench.schema.yaml import Marked
from kernbench.user_modules import is_read, line_of


@dataclass(frozen=True, slots=True)
class Topology:
    """A checked topology, with the sheets of its parts and all overrides."""

    family: Family  # with the classes of its parts
    spec: Model
    dropins: Mapping[str, DropIn]  # by part
    sheets: Mapping[str, Path]  # by part
    tree: Marked  # as it is written, with the overrides
    ranges: Mapping[str, tuple[float, float]]  # by dotted path, of fields that have one: in the unit of the field

    @property
    def content(self) -> str:
        """A text that changes with everything that decides the machine, except our own sources."""
        own = [f"{part} {self.dropins[part].sha256}" for part in sorted(self.dropins)]
        return "\n".join([self.spec.model_dump_json(), *own])

    @property
    def digest(self) -> str:
        """The digest of the content: the fields, the sheets and the texts of drop-ins."""
        return hashlib.sha256(self.content.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ParsedTopology:
    """A topology file with the sheets of its parts, read but not checked."""

    family: Family
    tree: Marked
    sheets: Mapping[str, Path]
    dropins: Mapping[str, Path]
    problems: list[str]


def check_topology(path: Path, overrides: Mapping[str, object]) -> Topology:
    """Read and check a topology file. Errors: InputError for all its mistakes, a line for each."""
    return check_parsed(read_topology(path, overrides), overrides)


def check_parsed(parsed: ParsedTopology, overrides: Mapping[str, object]) -> Topology:
    """Check a topology that was read with overrides that choose the same sheets. Errors: as `check_topology`."""
    tree, unknown = overlay(parsed.tree, overrides, leaf_paths(parsed.family.spec))
    problems = [*parsed.problems, *unknown]
    _check_ports(parsed, tree)
    try:
        spec = check(parsed.family.spec, tree)
    except InputError as error:
        raise InputError("\n".join([*problems, str(error)])) from None
    if problems:
        raise InputError("\n".join(problems))
    ranges = read_ranges(spec, tree)
    own = {
        part: DropIn(str(file), dropin.hash_file(file), getattr(spec, part).model_dump(mode="json"))
        for part, file in parsed.dropins.items()
    }
    return Topology(parsed.family, spec, own, parsed.sheets, tree, ranges)


def _check_ports(parsed: ParsedTopology, tree: Marked) -> None:
    """Check the ports of all drop-ins whose parameters fit, before they are used.

    Errors: as `ports.check`, and InputError for a class that raises when it is made.
    """
    standard, classes = FAMILIES[family_of(tree, FAMILIES)].parts(), parsed.family.parts()
    for part, file in parsed.dropins.items():
        if is_read(file):
            continue  # what stands for its class has none
        try:
            made = check(classes[part], tree.value[part])
        except InputError:
            continue  # reported with the other mistakes of the topology
        except (Exception, SystemExit) as error:  # a validator of a user's class may raise anything
            at = line_of(error, parsed.dropins[part])
            raise InputError(f"{at}: {classes[part].__name__} raised {error_text(error)}") from error
        ports.check(made, standard[part])


def list_fields(path: Path, overrides: Mapping[str, object]) -> list[str]:
    """The dotted paths of all fields, with the sheets that `overrides` choose. Errors: as `read_topology`."""
    return list(leaf_paths(read_topology(path, overrides).family.spec))


def read_topology(path: Path, overrides: Mapping[str, object]) -> ParsedTopology:
    """Read a topology file, the sheets of its parts and the classes beside them.

    Errors: InputError for a file that cannot be read, or a class that cannot be used.
    """
    tree = load_tree(path, overrides)
    family = FAMILIES[family_of(tree, FAMILIES)]
    tree, sheets, problems = complete(tree, family.kinds(), family.sheets())
    dropins = {part: file for part, sheet in sheets.items() if (file := dropin.find_file(sheet))}
    standard = family.parts()
    classes = {part: dropin.load_class(file, standard[part]) for part, file in dropins.items()}
    family = family.with_parts(classes)
    tree, mistakes = read_cited(tree, leaf_paths(family.spec))
    return ParsedTopology(family, tree, sheets, dropins, problems + mistakes)
