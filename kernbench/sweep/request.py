"""Sweeps that are asked for without a grid file, or with other values than a grid file has.

What is asked for becomes the tree of a grid, so that all that holds of grid files holds here: checks, keys of rows, and
directories that are found again. Settings are values, lists of them, or texts such as `64,128` and `16:128:x2`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernbench import library
from kernbench.characters import check_characters
from kernbench.errors import InputError, shorten, suggest
from kernbench.frontends.benches import FRONT_END as BENCHES
from kernbench.frontends.registry import find_front_end, list_programs
from kernbench.machine.overrides import TOPOLOGY
from kernbench.machine.setting_names import check_names, refuse_parameters
from kernbench.schema.guards import is_mapping
from kernbench.schema.yaml import Mark, Marked, mark_tree, scalar
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.grid.grid import Grid, load_tree, read_grid
from kernbench.sweep.grid.ranges import expand_range, is_range
from kernbench.sweep.programs import find_workload
from kernbench.text import bare_name
from kernbench.user_modules import looking

Target = str | Path | Mapping[str, Any] | Callable[..., object]

BENCH = "bench:"  # before the name of a bench that a grid has too
CHANGED = "-set"  # after the name of a grid whose values are replaced
_BENCH_FILE = re.compile(r".*\.(py|json)(:[^/\\]+)?")
_BRACKETS = r"\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\]"  # whose commas separate nothing
_PART = re.compile(rf"""\s*(?:"([^"]*)"|'([^']*)'|((?:{_BRACKETS}|[^,(\[])*))\s*(?:,|$)""")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for besides a grid or a bench; `option` is how settings are given, for messages."""

    settings: Mapping[str, object]
    topology: str | None = None
    mode: str | None = None
    objectives: Sequence[str] = ()
    option: str = "--set"
    error_bars: bool = False  # rows are the same, so they are found where the grid has kept them

    def __bool__(self) -> bool:
        return bool(self.settings or self.topology or self.mode or self.objectives)


@dataclass(frozen=True, slots=True)
class RequestedGrid:
    """A grid that is asked for: as it is written, and checked."""

    tree: Marked
    grid: Grid
    hides: str | None  # the name of a bench that the grid was taken for

    def renamed(self, stem: str) -> RequestedGrid:
        """The same under the name of a file that it is saved to. Errors: InputError for a name that no directory can have."""
        fields = {name: node for name, node in self.tree.value.items() if name != "name"}
        read_grid(_with(fields, "name", stem, Mark("--save")), stem)
        tree = Marked(fields, self.tree.mark)
        return RequestedGrid(tree, read_grid(tree, stem), self.hides)


def read_request(target: Target, request: Request) -> RequestedGrid:
    """The grid that a target and a request make: a grid with other values, or a bench with values.

    `target` is a grid (a file, a name in `sweeps/`, a mapping), a bench (a name, a file, the decorated function, or
    `bench:NAME` if a grid has its name) or a pattern of traffic. Errors: InputError, with the nearest name for an unknown one.
    """
    found = _find_target(target)
    if request.error_bars and is_mapping(found.tree.value):
        tree = Marked({**found.tree.value, "error_bars": mark_tree(True, Mark("--error-bars"))}, found.tree.mark)
        found = replace(found, tree=tree)
    if not request or not is_mapping(found.tree.value):
        grid = read_grid(found.tree, found.name)
        return RequestedGrid(found.tree, replace(grid, asked=not found.is_grid), found.hides)
    fields: dict[str, Marked] = dict(found.tree.value)
    name = found.name
    if found.is_grid:
        name = f"{fields.pop('name').plain() if 'name' in fields else name}{CHANGED}"
    named = {"topology": request.topology, "mode": request.mode, "objectives": list(request.objectives) or None}
    for key, value in named.items():
        if value is not None:
            fields[key] = mark_tree(value, Mark(f"--{key.removesuffix('s')}" if request.option == "--set" else key))
    if request.settings:
        fields["parameters"] = _set(fields, found.tree.mark, name, request)
    asked = Marked(fields, found.tree.mark)
    return RequestedGrid(asked, replace(read_grid(asked, name), asked=True), found.hides)


def read_values(text: str, *, numbers: bool) -> Value | list[Value] | dict[str, str]:
    """The values of `64`, `64,128` or `16:128:x2`, as a grid has them; a quoted part is one text, and so is `f(a, b)`.

    Without `numbers` the parts are texts. Errors: ValueError for a part that is empty, or a range without values.
    """
    if numbers and is_range(text):
        expand_range(text)  # what is wrong with it is said here
        return {"range": text}
    parts: list[Value] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None or (found[3] is not None and not found[3].strip()):
            raise ValueError(f"got {text!r}, expected values with commas between them")
        quoted = found[1] if found[1] is not None else found[2]
        plain = found[3].strip() if quoted is None else quoted
        parts += _read_part(plain, numbers=numbers and quoted is None)
        at = found.end()
    return parts[0] if len(parts) == 1 else parts


def _read_part(text: str, *, numbers: bool) -> Iterable[Value]:
    if not numbers:
        return [text]
    if is_range(text):
        return expand_range(text)
    value = scalar(text)
    return [value if isinstance(value, bool | int | float) else text]


def _set(fields: Mapping[str, Marked], mark: Mark, name: str, request: Request) -> Marked:
    """The parameters of a grid with those of a request in their place. Errors: InputError."""
    base = read_grid(Marked(dict(fields), mark), name)
    known = find_workload(base).parameters
    names = [name for name in request.settings if not name.startswith(TOPOLOGY)]
    check_names(names, known, base.topology, owner=base.workload, option=request.option)
    paths = [name.removeprefix(TOPOLOGY) for name in request.settings if name.startswith(TOPOLOGY)]
    refuse_parameters(paths, known, base.topology, owner=base.workload)
    parameters: dict[str, Marked] = dict(fields["parameters"].value) if "parameters" in fields else {}
    for each, given in request.settings.items():
        place = Mark(f"{request.option} {each}")
        value = given
        if isinstance(given, str):
            try:
                value = read_values(given, numbers=not isinstance(known.get(each), str))
            except ValueError as error:
                raise InputError(f"{place}: {error}") from None
        parameters[each] = mark_tree(value, place)
    return Marked(parameters, mark)


@dataclass(frozen=True, slots=True)
class _Found:
    """What a target names: the tree of its grid, and the name of its directory."""

    tree: Marked
    name: str
    is_grid: bool = False
    hides: str | None = None


def _find_target(target: Target) -> _Found:
    """What a target names. Errors: InputError."""
    if not callable(target) and not isinstance(target, str | Path):
        return _Found(*load_tree(target), is_grid=True)
    if callable(target):
        from kernbench.runs.bench import find_bench

        bench = find_bench(target)
        return _bench(f"{bench.file}:{bench.name}", bench.name)
    text = check_characters(str(target), "the sweep")
    if text.startswith(BENCH):
        return _bench(text.removeprefix(BENCH))
    if _BENCH_FILE.fullmatch(text):
        return _bench(text)
    grids = library.list_names("sweeps")
    if text in grids or text.endswith(library.SUFFIXES["sweeps"]) or library.is_path(target):
        hides = text if text in grids and text in _list_programs() else None
        return _Found(*load_tree(target), is_grid=True, hides=hides)
    programs = _list_programs()
    if text in programs or library.exists(Path(text)):
        return _bench(text)
    raise InputError(f"there is no grid and no bench {shorten(text)!r}{suggest(text, [*grids, *programs])}")


def _bench(bench: str, name: str = "") -> _Found:
    front_end = find_front_end(bench)
    if front_end.name == "traffic":
        return _Found(mark_tree({"pattern": bench}, Mark("grid")), bench)
    file, _, inside = bench.rpartition(":") if ".py:" in bench else (bench, "", "")
    fields = {"bench": bench}
    if front_end.machine != BENCHES.machine:  # of which grids have it by default
        fields["topology"] = front_end.find(bench).machine
    return _Found(mark_tree(fields, Mark("grid")), name or inside or bare_name(file))


def _list_programs() -> list[str]:
    """The names of all programs; those of benches that only their loading tells, too."""
    from kernbench.runs.bench import list_benches

    with looking():  # names alone are wanted
        return list(dict.fromkeys([*(bench.name for bench in list_benches()), *list_programs()]))


def _with(fields: Mapping[str, Marked], name: str, value: object, mark: Mark) -> Marked:
    return Marked({**fields, name: mark_tree(value, mark)}, mark)
