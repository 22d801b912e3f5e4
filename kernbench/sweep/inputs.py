"""What a sweep's results depend on besides the point: the bench's source, the topology's files, KernBench itself.

Each is boiled down to a digest. A point's key is a hash of those, of its parameters and of the mode: change any and the
point is another point, change none and its result is found again, wherever and whenever it was made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kernbench.errors import InputError, suggest
from kernbench.sweep.axis import Value
from kernbench.sweep.grid import Grid
from kernbench.sweep.point import TOPOLOGY, Point
from kernbench.sweep.row import COLUMNS

KEY_DIGITS = 32
NOT_IN_RESULTS = {"cli", "report", "sweep", "web"}  # packages that no figure depends on


@dataclass(frozen=True, slots=True)
class Inputs:
    """The checked inputs of a grid. `digests` are of what `changed` in a sweep may name."""

    bench: Any  # kernbench.host.bench.Bench
    digests: Mapping[str, str]

    def points(self, grid: Grid, assignments: Iterable[Mapping[str, Value]]) -> Iterator[Point]:
        """The points of a grid's assignments, each once."""
        seen: set[str] = set()
        for assigned in assignments:
            point = self._point(len(seen), grid, assigned)
            if point.key not in seen:
                seen.add(point.key)
                yield point

    def _point(self, index: int, grid: Grid, assigned: Mapping[str, Value]) -> Point:
        from kernbench.host.bench import typed_parameters

        given = {name: value for name, value in assigned.items() if not name.startswith(TOPOLOGY)}
        overrides = {name.removeprefix(TOPOLOGY): assigned[name] for name in assigned if name not in given}
        parameters = typed_parameters(self.bench, given)
        named = [
            *self.digests.values(),
            self.bench.name,
            grid.mode,
            sorted(parameters.items()),
            sorted(overrides.items()),
        ]
        key = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:KEY_DIGITS]
        bench = f"{self.bench.file}:{self.bench.name}"
        return Point(index, key, bench, grid.topology, grid.mode, parameters, overrides)


def read_inputs(grid: Grid) -> Inputs:
    """Find and check what a grid names, before anything runs.

    Errors: one InputError of all that is wrong with them and with the bench's parameters, a line each, with file:line:col.
    """
    from kernbench.host.bench import find_bench
    from kernbench.host.run import MODES

    problems: list[str] = []
    bench = _find(grid, "bench", find_bench, problems)
    if bench is not None:
        problems += _bench_problems(grid, bench)
    machine = _find(grid, "topology", _topology_digest, problems)
    if grid.mode not in MODES:
        problems.append(f"{grid.marks['mode']}: unknown mode {grid.mode!r}{suggest(grid.mode, MODES)}")
    if bench is None or problems:
        raise InputError("\n".join(problems))
    digests = {
        f"bench {grid.bench}": hashlib.sha256(Path(bench.file).read_bytes()).hexdigest(),
        f"topology {grid.topology}": machine,
        "KernBench": code_digest(),
    }
    return Inputs(bench, digests)


def check_fields(grid: Grid, points: Iterable[Point]) -> None:
    """Check the topology fields that points set: every value of every axis, in the first point that has it.

    A combination that does not fit together elsewhere fails when its point runs. Errors: one InputError, a line for
    each axis that does not fit, with file:line:col.
    """
    axes = {axis.name.removeprefix(TOPOLOGY): axis for axis in grid.axes if axis.name.startswith(TOPOLOGY)}
    seen: set[tuple[str, Value]] = set()
    problems: dict[str, str] = {}
    for point in points:
        overrides = {path: value for path, value in point.overrides.items() if path not in problems}
        fresh = overrides.items() - seen
        seen |= fresh
        together = _field_problem(grid.topology, overrides) if fresh else None
        if together:
            alone = {path: _field_problem(grid.topology, {path: value}) for path, value in fresh}
            problems |= {path: problem for path, problem in alone.items() if problem} or {min(fresh)[0]: together}
    if problems:
        raise InputError("\n".join(f"{axes[path].mark}: {problems[path]}" for path in axes if path in problems))


@cache
def code_digest() -> str:
    """The digest of KernBench's version and of the sources that figures depend on, so an edit shows in a checkout too."""
    package = Path(__file__).resolve().parents[1]
    sources = [*package.rglob("*.py"), *(package.parent / "kernels_jit").rglob("*.py")]
    digest = hashlib.sha256()
    for path in sorted(sources):
        if path.is_relative_to(package) and path.relative_to(package).parts[0] in NOT_IN_RESULTS:
            continue
        digest.update(f"{path.relative_to(package.parent).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _bench_problems(grid: Grid, bench: Any) -> Iterator[str]:
    from kernbench.host.bench import typed_parameters

    for name in sorted(set(bench.parameters) & set(COLUMNS)):
        yield f"{grid.marks['bench']}: the bench's parameter {name!r} has the name of a result column; rename it"
    for axis in grid.axes:
        if axis.name.startswith(TOPOLOGY):
            continue
        try:
            for value in axis.values:
                typed_parameters(bench, {axis.name: value})
        except InputError as error:
            hint = f" (fields of the topology begin with {TOPOLOGY!r})" if "." in axis.name else ""
            yield f"{axis.mark}: {error}{hint}"


def _topology_digest(topology: str) -> str:
    from kernbench.machine.load import load_spec

    return hashlib.sha256(load_spec(topology).model_dump_json().encode()).hexdigest()


def _field_problem(topology: str, overrides: Mapping[str, Value]) -> str | None:
    from kernbench.machine.load import load_spec

    try:
        load_spec(topology, overrides)
    except InputError as error:
        return str(error)
    return None


def _find(grid: Grid, field: str, find: Callable[[str], Any], problems: list[str]) -> Any:
    try:
        return find(getattr(grid, field))
    except InputError as error:
        problems.append(f"{grid.marks[field]}: {error}")
        return None
