"""Plan of a sweep: its points, the points without a row on the disk, and the inputs that have changed.

A point that failed is not missing (it would fail again) unless asked for; one whose worker process died is, since the
cause was not the point's alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernbench.characters import check_characters
from kernbench.errors import InputError
from kernbench.frontends.request import CODE
from kernbench.limits.run_limits import RunLimits, read_limits
from kernbench.modes import Mode
from kernbench.schema.guards import is_mapping
from kernbench.sweep.design.design import Design
from kernbench.sweep.design.full_factorial import expand
from kernbench.sweep.design.optimiser import first_batch
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.design.points import Points
from kernbench.sweep.design.sampling import DRAWS, sample
from kernbench.sweep.energy_objectives import check_objectives
from kernbench.sweep.fingerprints import Inputs, check_fields, note_inputs, read_inputs, read_units
from kernbench.sweep.grid.grid import NO_OPS, Grid, load_grid
from kernbench.sweep.question import RESULTS, find_directory, tell_question
from kernbench.sweep.results.derived_columns import LATENCY
from kernbench.sweep.results.error_bars import check_error_bars
from kernbench.sweep.results.file_names import MANIFEST
from kernbench.sweep.results.manifest import QUESTION, read_manifest
from kernbench.sweep.results.store import RANK, Store, write_whole
from kernbench.sweep.results.stored_rows import StoredRows
from kernbench.sweep.row import ERROR, OK

METHODS: dict[str, Callable[[ParameterSpace], Design]] = {
    "grid": expand,
    **dict.fromkeys(DRAWS, sample),
    "optimise": first_batch,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """All points of a sweep, and those that have no row in its directory yet; of a search, those it asks for first."""

    grid: Grid
    inputs: Inputs
    directory: Path
    points: Points
    missing: Points
    retry: bool  # whether points that failed before count as missing
    changed: tuple[str, ...]  # inputs that are not what they were when this directory was last written
    command: str | None = None  # the command line, for the manifest; None from Python

    def points_in(self, mode: str) -> Points:
        """The same points in another mode, under keys of their own."""
        return self.inputs.points(replace(self.grid, mode=mode), self.points.design)

    @property
    def most_points(self) -> int:
        """The number of points, at most."""
        return self.grid.samples if self.grid.method == "optimise" else len(self.points)


def plan_sweep(
    grid: Grid | str | Path | Mapping[str, Any],
    out: Path | str | None = None,
    *,
    retry: bool = False,
    time_limit: float | str | None = None,
    op_limit: int | None = None,
    command: str | None = None,
) -> Plan:
    """Check a grid and find which of its points are missing in `out`.

    The default is results/<name of the grid>; what is asked without a grid file goes beside tables of other questions, to
    results/<name>-2 and so on (`sweep.question`).

    With `retry`, points that failed count as missing. `time_limit` and `op_limit` of each point win over those of the grid; see
    `run_bench`. `command` is the command line that asks for it. Errors: InputError of all that is wrong with the grid.
    """
    given = read_limits(time_limit, op_limit)
    checked = grid if isinstance(grid, Grid) else load_grid(grid)
    if checked.pattern is not None and given.ops is not None:
        raise InputError(f"the op limit {NO_OPS}")
    own = checked.limits
    checked = replace(checked, limits=RunLimits(given.time_s or own.time_s, given.ops or own.ops))
    check_error_bars(checked)
    inputs = read_inputs(checked)
    checked = read_units(checked, inputs)
    design = METHODS[checked.method](ParameterSpace(checked, inputs.defaults))
    bounded = checked.mode == Mode.AUTO  # all points are; some of them run later
    points = inputs.points(replace(checked, mode=Mode.ANALYTIC) if bounded else checked, design)
    if not len(points):
        raise InputError(f"{checked.rules[0].mark}: no point is left; let the conditions keep some")
    check_fields(checked, inputs.topology, points)
    check_objectives(checked, points)
    directory = _default_directory(checked) if out is None else Path(check_characters(str(out), "the directory"))
    missing = find_missing(points, directory, retry=retry)
    changed = _changed(directory, inputs) if len(missing) else ()
    return Plan(checked, inputs, directory, points, missing, retry, changed, command)


def _default_directory(grid: Grid) -> Path:
    return find_directory(grid) if grid.asked else RESULTS / grid.name


def find_missing(points: Points, directory: Path, *, retry: bool = False) -> Points:
    """Those of some points that have no row in a directory that need not be made again."""
    final = RANK[OK] if retry else RANK[ERROR]
    return points.take(StoredRows(Store(directory), points).rank < final)


def write_manifest(plan: Plan) -> None:
    """Leave there what the sweep is of, and the digests of its inputs.

    The version, the command and the date are those of the last command that ran points. Errors: InputError if it cannot be
    written.
    """
    grid = plan.grid
    before = {} if len(plan.missing) else read_manifest(plan.directory / MANIFEST)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    run_by = {"kernbench": plan.inputs.stamp["kernbench"], "command": plan.command, "date": now}
    asked = grid.objectives or ((LATENCY,) if grid.mode == Mode.AUTO else ())
    manifest = {
        "schema": 1,
        "grid": grid.name,
        "file": grid.file,
        "method": grid.method,
        "description": grid.description,
        "workload": grid.workload,
        "bench": grid.bench,
        "topology": grid.topology,
        "mode": grid.mode,
        "points": len(plan.points),
        "most_points": plan.most_points,
        "objectives": [{"column": objective.column, "least": objective.least} for objective in asked],
        QUESTION: tell_question(grid),
        "digests": dict(plan.inputs.digests),
        CODE: note_inputs(grid, plan.inputs),
        **({name: before.get(name) for name in run_by} if "date" in before else run_by),
    }
    text = json.dumps(manifest, indent=2) + "\n"
    write_whole(plan.directory / MANIFEST, lambda path: path.write_text(text, encoding="utf-8"))


def _changed(directory: Path, inputs: Inputs) -> tuple[str, ...]:
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ()
    before = manifest.get("digests") if is_mapping(manifest) else None
    if not is_mapping(before):
        return ()
    return tuple(name for name, digest in inputs.digests.items() if before.get(name, digest) != digest)
