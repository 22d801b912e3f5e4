"""Comparison of two sweeps, or of two runs.

Points are paired by their parameters, not by the key of their rows, which also depends on the bench, the topology and
KernBench itself: what is compared is mostly the same points of two versions of those. Simulated times are exact, so any
difference is a change, in whichever direction. The latency of a point that was bounded alone is its lower bound: it is compared
with bounds, never with what was simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.library import is_file
from kernbench.modes import Mode
from kernbench.atomic_output import unreadable
from kernbench.errors import InputError, shorten, suggest
from kernbench.sealing import load_sealed_json, read_sealed_parquet
from kernbench.sweep.point import TOPOLOGY
from kernbench.sweep.results.bounds import find_senses
from kernbench.sweep.results.file_names import TABLE
from kernbench.sweep.row import BOUND, COLUMNS, OK

if TYPE_CHECKING:
    import polars

COMPARED = ("latency_ns", "pe_exec_ns")
RATES = ("achieved_", "tflops_of_peak", "gbs_of_peak", "bottleneck_utilisation")  # of these more is better, of all other figures less
PLACE = "place of the row"  # what pairs points that have no parameters, and runs
CHANGE = "_change"  # after a column's name: B's figure over A's, less 1
RUN = "result.json"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: a row for each point, its parameters first."""

    name: str
    table: polars.DataFrame
    is_run: bool
    spent_ns: Mapping[str, float] | None = None  # critical path of an explained run, by class of part

    @property
    def parameters(self) -> list[str]:
        """The columns that say which point a row is of."""
        return list(takewhile(lambda column: column not in COLUMNS, self.table.columns))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides, point by point.

    pairs: a row for each point of both, with the parameters that tell points apart, `status_a`, `status_b`, `fidelity_a`,
    `fidelity_b`, and of each compared column its figure in A, in B, and the change, and, where figures are bounds, `…_bound_a` and `…_bound_b`; only_a, only_b: the points of one side alone; bounded_a, bounded_b:
    how many points of both that side has bounds of and the other a simulated time, which are in no pair.
    """

    a: Side
    b: Side
    columns: tuple[str, ...]
    parameters: tuple[str, ...]
    pairs: polars.DataFrame
    only_a: polars.DataFrame
    only_b: polars.DataFrame
    bounded_a: int
    bounded_b: int

    def moved_path(self) -> list[tuple[str, float, float]]:
        """Of two explained runs, the classes of part on their critical paths with the time in A and in B (ns).

        The largest difference comes first; the differences add up to that of the latencies. Without both it is empty.
        """
        a, b = self.a.spent_ns, self.b.spent_ns
        if a is None or b is None:
            return []
        found = [(kind, a.get(kind, 0.0), b.get(kind, 0.0)) for kind in dict.fromkeys([*a, *b])]
        return sorted(found, key=lambda one: (-abs(one[2] - one[1]), one[0]))

    def moved_settings(self) -> list[tuple[str, Any, Any]]:
        """Of two runs, the settings that differ, with their values in A and in B; None where a side does not set it."""
        if not (self.a.is_run and self.b.is_run):
            return []
        ours, theirs = ({name: side.table[name][0] for name in side.parameters} for side in (self.a, self.b))
        names = dict.fromkeys([*ours, *theirs])
        return [(name, ours.get(name), theirs.get(name)) for name in names if ours.get(name) != theirs.get(name)]

    def moved(self) -> polars.DataFrame:
        """The pairs in which anything changed, the largest change of the first column first."""
        import polars

        unlike = polars.col("status_a") != polars.col("status_b")
        for column in self.columns:
            unlike = unlike | (polars.col(column + CHANGE) != 0)
        size = polars.col(self.columns[0] + CHANGE).abs()
        return self.pairs.filter(unlike.fill_null(value=True)).sort(size, descending=True, nulls_last=False)

    def over(self, thresholds: Mapping[str, float], *, worse_only: bool = False) -> polars.DataFrame:
        """The pairs that moved by more than a threshold (a fraction, by column), or that finished in A and not in B.

        A pair with a figure on one side alone is among them.
        """
        import polars

        beyond = (polars.col("status_a") == OK) & (polars.col("status_b") != OK)
        finished = (polars.col("status_a") == OK) & (polars.col("status_b") == OK)
        for column, threshold in thresholds.items():
            change = polars.col(column + CHANGE)
            signed = -change if column.startswith(RATES) else change
            beyond = beyond | ((signed if worse_only else change.abs()) > threshold).fill_null(value=False)
            one_alone = polars.col(f"{column}_a").is_null() != polars.col(f"{column}_b").is_null()
            beyond = beyond | (finished & one_alone)
        return self.pairs.filter(beyond)


def compare(a: str | Path, b: str | Path, columns: Sequence[str] = ()) -> Comparison:
    """Compare two sweeps or runs: directories as `kernbench sweep` and `kernbench run --out` leave them, or their files.

    `columns` are compared besides `COMPARED`. Errors: InputError for what is neither a sweep nor a run, for an unknown column,
    and for points that cannot be paired since one side varies what the other does not have.
    """
    one, other = read_side(Path(a)), read_side(Path(b))
    wanted = tuple(dict.fromkeys([*COMPARED, *columns]))
    for side in (one, other):
        figures = [name for name in side.table.columns if side.table[name].dtype.is_numeric()]
        for column in wanted:
            if column not in figures:
                raise InputError(f"{side.name} has no figures {column!r}{suggest(column, figures)}")
    if one.is_run and other.is_run:
        return _compare(one, other, wanted, ())
    return _compare(one, other, wanted, _shared_parameters(one, other))


def read_side(path: Path) -> Side:
    """The table of a sweep or the figures of a run. Errors: InputError for what is neither."""
    inside = [path] if is_file(path) else [path / TABLE, path / RUN]
    file = next((file for file in inside if is_file(file)), None)
    if file is None or file.suffix not in (".parquet", ".json"):
        raise InputError(f"{shorten(path)} is neither a sweep nor a run: it has no {TABLE} and no {RUN}")
    try:
        if file.suffix == ".parquet":
            side = Side(str(path), read_sealed_parquet(file), is_run=False)
        else:
            result = load_sealed_json(file)
            side = Side(str(path), _read_run(result), is_run=True, spent_ns=_read_path(result))
        _check_types(side.table)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, *unreadable()) as error:
        raise InputError(f"{file} is not the table of a sweep nor the figures of a run ({shorten(error)})") from None
    return side


def _check_types(table: polars.DataFrame) -> None:
    """Errors: KeyError or ValueError for a table without its columns, or with a column of a type that no sweep writes."""
    for name, kind in table.schema.items():
        if not (kind.is_numeric() or str(kind) in ("String", "Boolean", "Null")):
            raise ValueError(f"{name} is of type {kind}")
    for name in ("latency_ns", "status", "fidelity"):
        kind = table.schema[name]
        if not (kind.is_numeric() if COLUMNS[name] is float else str(kind) == "String") and str(kind) != "Null":
            raise ValueError(f"{name} is of type {kind}")


def _read_run(result: Mapping[str, Any]) -> polars.DataFrame:
    import polars

    fields = {TOPOLOGY + path: value for path, value in result["overrides"].items()}
    settings = {**result["parameters"], **fields}
    for name, value in settings.items():
        if not isinstance(value, str | int | float | bool | None):
            raise ValueError(f"{name} is no number and no text")
    figures = {name: result.get(name) for name in COLUMNS if name not in ("status", "error")}
    kinds = {name: COLUMNS[name] for name in figures}
    return polars.DataFrame(
        [{**settings, **figures, "fidelity": result.get("mode"), "status": OK}], schema_overrides=kinds
    )


def _read_path(result: Mapping[str, Any]) -> dict[str, float] | None:
    if "explain" not in result:
        return None
    return {str(kind): float(ns) for kind, ns in result["explain"]["critical_path"].items()}


def _shared_parameters(one: Side, other: Side) -> tuple[str, ...]:
    shared = [name for name in one.parameters if name in other.parameters]
    for side, against in ((one, other), (other, one)):
        for name in side.parameters:
            if name not in shared and side.table[name].n_unique() > 1:
                raise InputError(
                    f"{side.name} varies {name!r}, which {against.name} does not have: which points are the same?"
                )
    return tuple(shared)


def _compare(one: Side, other: Side, columns: tuple[str, ...], shared: tuple[str, ...]) -> Comparison:
    import polars

    keys = list(shared) or [PLACE]
    a, b = _keyed(one.table, other.table, keys), _keyed(other.table, one.table, keys)
    left, right = (
        side.select(
            *keys,
            *(polars.col(name).alias(f"{name}_{tail}") for name in ("status", "fidelity", *columns)),
            *(polars.Series(f"{name}{BOUND}_{tail}", find_senses(side, name), polars.String) for name in columns),
        )
        for side, tail in ((a, "a"), (b, "b"))
    )
    pairs = left.join(right, on=keys, how="inner", nulls_equal=True, maintain_order="left").with_columns(
        _change(polars.col(f"{name}_a"), polars.col(f"{name}_b")).alias(name + CHANGE) for name in columns
    )
    bounded = [(pairs[f"fidelity_{tail}"] == Mode.ANALYTIC).fill_null(value=False) for tail in "ab"]
    simulated = [(pairs[f"fidelity_{tail}"] != Mode.ANALYTIC).fill_null(value=False) for tail in "ab"]
    bounded_a, bounded_b = bounded[0] & simulated[1], bounded[1] & simulated[0]
    pairs = pairs.filter(~(bounded_a | bounded_b))
    senses = [f"{name}{BOUND}_{tail}" for name in columns for tail in "ab"]
    pairs = pairs.drop(name for name in senses if pairs[name].is_null().all())
    only_a = a.join(b, on=keys, how="anti", nulls_equal=True, maintain_order="left")
    only_b = b.join(a, on=keys, how="anti", nulls_equal=True, maintain_order="left")
    telling = tuple(name for name in shared if len(pairs) and pairs[name].n_unique() > 1)
    return Comparison(one, other, columns, telling, pairs, only_a, only_b, int(bounded_a.sum()), int(bounded_b.sum()))


def _keyed(table: polars.DataFrame, against: polars.DataFrame, shared: Sequence[str]) -> polars.DataFrame:
    """The table with parameters of the types that both can have: a parameter may be 8 here and 8.0 or "8 ns" there."""
    import polars

    if PLACE in shared:
        return table.with_row_index(PLACE)
    casts: list[polars.Expr] = []
    for name in shared:
        mine, theirs = table[name].dtype, against[name].dtype
        if mine != theirs:
            kind = polars.Float64 if mine.is_numeric() and theirs.is_numeric() else polars.String
            casts.append(polars.col(name).cast(kind))
    return table.with_columns(casts)


def _change(a: polars.Expr, b: polars.Expr) -> polars.Expr:
    import polars

    return polars.when(a.eq_missing(b)).then(0.0).otherwise(b / a - 1)
