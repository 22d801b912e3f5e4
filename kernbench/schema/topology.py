"""Tree of a topology: sheets of its parts, then fields of its file, then overrides; later ones win.

`parts: {hbm: hbm_fast}` names the sheet of a part; without an entry the sheet has the name of the part. A parameter in the file
(`hbm: {channel_gbs: 40}`) wins over the sheet, and an override (`hbm.channel_gbs=64`) over both. A field of the file may
be written as in a sheet, with its unit, source and range (`hop_ns: {value: 1, unit: ns, source: "..."}`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from kernbench.errors import InputError, suggest
from kernbench.schema.guards import is_mapping
from kernbench.schema.sheet import BLOCKS, load_sheet, set_path
from kernbench.schema.yaml import Mark, Marked, load, mark_tree, parse


def load_tree(path: Path, overrides: Mapping[str, object]) -> Marked:
    """The tree of a topology file, with those overrides that choose sheets applied."""
    tree = load(path)
    if not is_mapping(tree.value):
        raise InputError(f"{tree.mark}: expected a mapping with the key 'family'")
    for dotted, value in overrides.items():
        if dotted.startswith("parts."):
            tree = set_path(tree, dotted, override(dotted, value))
    return tree


def family_of(tree: Marked, known: Iterable[str]) -> str:
    """The family a topology names. Errors: InputError for a missing or an unknown one."""
    node = tree.value.get("family")
    names = list(known)
    if node is None:
        raise InputError(f"{tree.mark}: family: missing; known: {', '.join(sorted(names))}")
    if node.value not in names:
        raise InputError(f"{node.mark}: family: unknown family {node.value!r}{suggest(str(node.value), names)}")
    return node.value


def complete(
    tree: Marked, kinds: Mapping[str, str], defaults: Mapping[str, str] | None = None
) -> tuple[Marked, dict[str, Path], list[str]]:
    """The tree with the sheets of its parts, the files of the sheets, and a sentence for each mistake in them.

    `kinds` gives the kind of each part of the family, `defaults` the sheet where the topology names none. For a sheet that
    cannot be used the default one is taken, so that all other fields can be checked.
    """
    problems: list[str] = []
    files: dict[str, Path] = {}
    sheets = defaults or {}
    chosen = tree.value.get("parts")
    named: dict[str, Marked] = chosen.value if chosen and is_mapping(chosen.value) else {}
    for part, kind in kinds.items():
        try:
            chosen_sheet = str(named[part].plain()) if part in named else sheets.get(part, part)
            files[part], parameters = load_sheet(chosen_sheet, kind)
        except InputError as error:
            if part not in named:
                raise
            mark = str(named[part].mark)
            problems.append(f"{mark if mark.endswith(f' parts.{part}') else f'{mark}: parts.{part}'}: {error}")
            files[part], parameters = load_sheet(sheets.get(part, part), kind)
        tree = _beneath(tree, part, parameters)
    return tree, files, problems


def overlay(tree: Marked, overrides: Mapping[str, object], known: Iterable[str]) -> tuple[Marked, list[str]]:
    """The tree with all overrides, and a sentence for each mistake in them; overrides of unknown paths are left out."""
    problems: list[str] = []
    paths = set(known)
    for dotted, value in overrides.items():
        if dotted in paths or dotted.startswith("parts."):
            tree = set_path(tree, dotted, override(dotted, value))
        else:
            problems.append(f"unknown topology field {dotted!r}{suggest(dotted, _akin(dotted, paths))}")
    return tree, problems


def _akin(dotted: str, paths: Iterable[str]) -> list[str]:
    """The known paths to suggest for an unknown one: the path that it extends, else those of its section, else all."""
    known = list(paths)
    around = [path for path in known if f".{dotted}." in f".{path}."]
    section = dotted.partition(".")[0]
    return around or [path for path in known if path.partition(".")[0] == section] or known


def override(dotted: str, value: object) -> Marked:
    """The tree of an override, marked as one; a text, as from a command line, is read as YAML."""
    shown = f"override {dotted}"
    if isinstance(value, str):
        with suppress(InputError):  # invalid YAML stays a text; the check reports the type that is expected
            value = parse(value, shown).plain()
    return mark_tree(value, Mark(shown))


def _beneath(tree: Marked, part: str, parameters: Marked) -> Marked:
    own = tree.value.get(part)
    if own is None:
        return Marked({**tree.value, part: parameters}, tree.mark, tree.key)
    if not is_mapping(own.value):
        return tree  # the check reports the mistake
    blocks = {
        name: _beneath(own, name, parameters.value[name]).value[name] for name in BLOCKS if name in parameters.value
    }
    merged = Marked({**parameters.value, **own.value, **blocks}, own.mark, own.key)
    return Marked({**tree.value, part: merged}, tree.mark, tree.key)
