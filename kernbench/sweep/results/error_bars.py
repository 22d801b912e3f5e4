"""Error bars of a sweep: what figures that are not certain do to the latency of each point, simulated.

The rule is that of a run (`kernbench.runs.error_bars`): each uncertain figure of the machine at either end of its range, one at
a time, combined by the root of the sum of squares. The points at those ends are points as others are, so their rows are kept,
found again and shared between workers. What the grid itself varies is certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.sheets.uncertainty import UncertainFigure, combine, uncertain_of
from kernbench.modes import EVENT_MODES
from kernbench.runs.repetitions import used_fields
from kernbench.sweep.design.design import UNSET, Design
from kernbench.sweep.design.points import Points
from kernbench.sweep.execution.batches import Groups
from kernbench.sweep.execution.worker import find_structure
from kernbench.sweep.grid.grid import Grid
from kernbench.sweep.point import TOPOLOGY
from kernbench.sweep.results.derived_columns import LATENCY
from kernbench.sweep.results.pareto import rank_points
from kernbench.sweep.row import OK

if TYPE_CHECKING:
    import polars

    from kernbench.sweep.fingerprints import Inputs
    from kernbench.sweep.grid.grid import Objective
    from kernbench.sweep.results.stored_rows import StoredRows

LOW, HIGH = "latency_low_ns", "latency_high_ns"
FILE = "error_bars.parquet"
ENDS = ("latency_at_low_ns", "latency_at_high_ns")


@dataclass(frozen=True, slots=True)
class Ends:
    """The points at the ends of uncertain figures: for each point of the sweep the low and the high end of each figure."""

    figures: Sequence[UncertainFigure]
    points: Points
    keys: np.ndarray  # S32[point of the sweep, figure, end]


def check_error_bars(grid: Grid) -> None:
    """Check that a grid may have error bars. Errors: InputError."""
    if not grid.error_bars:
        return
    if grid.bench is None:
        raise InputError("error bars are of benches, and this grid sends traffic; leave them out")
    if grid.mode not in EVENT_MODES or grid.method == "optimise":
        what = f"mode {grid.mode}" if grid.mode not in EVENT_MODES else "method optimise"
        raise InputError(
            f"error bars take simulated points, and {what} leaves some out; give mode hybrid and all points"
        )


def list_ends(grid: Grid, inputs: Inputs, points: Points) -> Ends:
    """The points at the ends of the uncertain figures that a time of some point follows from. Errors: InputError."""
    machine, design = load_machine(grid.topology), points.design
    parts = {name.split(".")[2] for name in design.names if name.startswith(f"{TOPOLOGY}parts.")}
    used = _list_used(points)
    figures = [
        one
        for name, one in uncertain_of(machine).items()
        if TOPOLOGY + name not in design.names
        and name.partition(".")[0] not in parts
        and (used is None or name in used or name not in machine.origins().fields)
    ]
    count = 2 * len(figures)
    chosen = np.repeat(points.choices.astype(np.int32), count, axis=0)
    ends = np.full((len(points), count, len(figures)), UNSET, np.int32)
    for at in range(len(figures)):
        ends[:, 2 * at, at], ends[:, 2 * at + 1, at] = 0, 1
    made = inputs.points(
        grid,
        Design(
            (*design.names, *(TOPOLOGY + one.field for one in figures)),
            (*design.values, *((one.low, one.high) for one in figures)),
            np.concatenate([chosen, ends.reshape(-1, len(figures))], axis=1),
        ),
    )
    return Ends(figures, made, made.design_keys.reshape(len(points), len(figures), 2))


def _list_used(points: Points) -> set[str] | None:
    """The fields that times of points follow from; None if the program of one is not known before it runs."""
    found: set[str] = set()
    for group in Groups(points):
        structure = find_structure(group[0])
        if structure is None or structure.recording is None:
            return None
        found |= used_fields(structure.recording.program)
    return found


def list_effects(points: Points, rows: StoredRows, ends: Ends, at_ends: StoredRows) -> Iterator[polars.DataFrame]:
    """For each point with a latency, the latencies at both ends of each figure: key, field, low, high and the two of `ENDS`."""
    import polars

    there = rows.take(np.flatnonzero(rows.found)).filter(polars.col("status") == OK)
    latency = dict(zip(there["key"], there[LATENCY.column], strict=True))
    found = at_ends.take(np.flatnonzero(at_ends.found)).filter(polars.col("status") == OK)
    at_end = dict(zip(found["key"], found[LATENCY.column], strict=True))
    for key, own in zip(points.keys, ends.keys, strict=True):
        if (name := key.decode()) in latency:
            yield polars.DataFrame(
                {
                    "key": [name] * len(ends.figures),
                    "field": [one.field for one in ends.figures],
                    "low": [float(one.low) for one in ends.figures],
                    "high": [float(one.high) for one in ends.figures],
                    "latency_ns": [latency[name]] * len(ends.figures),
                    ENDS[0]: [at_end.get(one.decode()) for one in own[:, 0]],
                    ENDS[1]: [at_end.get(one.decode()) for one in own[:, 1]],
                },
                schema=SCHEMA,
            )


SCHEMA = {"key": str, "field": str, **dict.fromkeys(("low", "high", "latency_ns", *ENDS), float)}


def combine_effects(effects: polars.DataFrame) -> polars.DataFrame:
    """`key`, `LOW` and `HIGH` of each point; null where a run at an end failed."""
    import polars

    rows: list[tuple[str, float | None, float | None]] = []
    for (key,), own in effects.group_by("key", maintain_order=True):
        pairs = [*zip(own[ENDS[0]], own[ENDS[1]], strict=True)]
        known = all(None not in pair for pair in pairs)
        low, high = combine(own["latency_ns"][0], pairs) if known else (None, None)
        rows.append((str(key), low, high))
    return polars.DataFrame(rows, schema={"key": str, LOW: float, HIGH: float}, orient="row")


def tell_ranking(effects: polars.DataFrame, ranked: polars.DataFrame, objective: Objective) -> list[str]:
    """Whether the ranges could turn a ranking by the latency around: sentences, none if it is by something else.

    `ranked`: the best points, the best first. Of two points the same figure is the same: their difference counts.
    """
    if (objective.column, objective.least) != (LATENCY.column, True) or len(ranked) < 2:
        return []
    by_key = {str(key): own for (key,), own in effects.group_by("key")}
    first, *others = (by_key.get(key) for key in ranked["key"])
    if first is None:
        return []
    near = [place for place, other in enumerate(others, 2) if other is not None and _may_be_faster(first, other)]
    if not near:
        return ["no range of an uncertain figure makes another of these points faster than the first"]
    places = f"number {near[0]}" if len(near) == 1 else f"numbers {', '.join(map(str, near))}"
    return [f"the ranking is not certain: for what is uncertain of the machine, {places} may be faster than the first"]


def read_ranking(grid: Grid, table: polars.DataFrame, objective: Objective, directory: Path, most: int) -> list[str]:
    """What `tell_ranking` says of the `most` best points of a sweep; nothing of one without error bars."""
    if not grid.error_bars or (effects := read_effects(directory)) is None:
        return []
    return tell_ranking(effects, rank_points(table, objective, most), objective)


def read_effects(directory: Path) -> polars.DataFrame | None:
    """What `list_effects` found for a sweep; None if it has no error bars."""
    import polars

    file = directory / FILE
    return polars.read_parquet(file) if file.is_file() else None


def count_turnable(a: polars.DataFrame, b: polars.DataFrame, pairs: Iterable[tuple[str, str]]) -> int:
    """Of pairs of points of two sweeps, by their keys in `a` and `b`: how many may be the other way around.

    A figure that is uncertain on one side alone moves that side.
    """
    sides = [{str(key): own for (key,), own in side.group_by("key")} for side in (a, b)]
    known = ([side[key] for side, key in zip(sides, pair, strict=True) if key in side] for pair in pairs)
    return sum(_may_be_faster(*sorted(both, key=_latency)) for both in known if len(both) == 2)


def _latency(effects: polars.DataFrame) -> float:
    return effects["latency_ns"][0]


def _may_be_faster(first: polars.DataFrame, other: polars.DataFrame) -> bool:
    ours, theirs = _latency(first), _latency(other)
    both = first.join(other, on="field", how="full", suffix="_other")
    ends = ((both[end].fill_null(ours), both[f"{end}_other"].fill_null(theirs)) for end in ENDS)
    at_low, at_high = (other_end - end for end, other_end in ends)
    gap = theirs - ours
    less = np.hypot.reduce([max(gap - min(pair), 0.0) for pair in zip(at_low, at_high, strict=True)])
    return bool(gap - less < 0)
