"""Comparison of two sweeps, or of two runs.

Points are paired by their parameters, not by the key of their rows, which also depends on the bench, the topology and
KernBench itself: what is compared is mostly the same points of two versions of those. Simulated times are exact, so any
difference is a change, in whichever direction. The latency of a point that was bounded alone is its lower bound: it is compared
with bounds, never with what was simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.atomic_output import unreadable
from kernbench.errors import InputError, shorten, suggest
from kernbench.library import exists, is_file
from kernbench.notebook import html_table
from kernbench.schema.guards import is_list
from kernbench.sealing import load_sealed_json, read_sealed_parquet
from kernbench.sweep.point import TOPOLOGY
from kernbench.sweep.results.bounds import find_senses, is_analytic
from kernbench.sweep.results.energy_comparison import Energies, MovedEnergy, compare_energies, read_energies
from kernbench.sweep.results.error_bars import count_turnable, read_effects
from kernbench.sweep.results.file_names import TABLE
from kernbench.sweep.row import BOUND, COLUMNS, OK
from kernbench.text import plural

if TYPE_CHECKING:
    import polars

STEP = "step_ns"
COMPARED = ("latency_ns", "pe_exec_ns", "energy_j")
OF_NETWORKS = (STEP, "user_tokens_s", "tokens_s", "sequences_s")  # which replace the times of launches
ALGORITHM = "collective_algorithm"
# Of these more is better, of all other figures less.
RATES = (
    "achieved_",
    "user_tokens_s",
    "tokens_s",
    "sequences_s",
    "tokens_per_joule",
    "tflops_of_peak",
    "gbs_of_peak",
    "bottleneck_utilisation",
)
PLACE = "place of the row"  # what pairs points that have no parameters, and runs
CHANGE = "_change"  # after a column's name: B's figure over A's, less 1
RUN = "result.json"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: a row for each point, its parameters first."""

    name: str
    table: polars.DataFrame
    is_run: bool
    point: tuple[str, ...] | None = None  # of an evaluation, the columns that say which run a row is of
    settings: Mapping[str, object] = field(default_factory=dict[str, object])  # of an evaluation
    spent_ns: Mapping[str, float] | None = None  # critical path of an explained run, by class of part
    operators_ns: Mapping[str, float] | None = None  # of a network, in a step of all layers
    energies: Energies | None = None  # of a kept run
    effects: polars.DataFrame | None = None  # of a sweep with error bars, what uncertain figures do to each point

    @property
    def parameters(self) -> list[str]:
        """The columns that say which point a row is of."""
        if self.point is not None:
            return list(self.point)
        return list(takewhile(lambda column: column not in COLUMNS, self.table.columns))


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Two sides, point by point.

    - `pairs`: a row for each point of both, with the parameters that tell points apart, `status_a`, `status_b`, `fidelity_a`,
      `fidelity_b`, `collective_algorithm_a` and `_b` where there are collectives, and of each compared column its figure in A,
      in B, and the change; where figures are bounds, also columns that end in `_bound_a` and `_bound_b`.
    - `only_a`, `only_b`: the points of one side alone.
    - `bounded_a`, `bounded_b`: how many points are in no pair because that side has bounds and the other simulated times.
    - `turnable`: of two sweeps with error bars, how many changes of latency the ranges of uncertain figures could turn around.
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
    turnable: int | None = None

    def __repr__(self) -> str:
        return (
            f"<Comparison of {self.a.name} and {self.b.name}: {len(self.moved())} of {plural(len(self.pairs), 'point')} moved; "
            ".moved(), .pairs>"
        )

    def _repr_html_(self) -> str:
        moved = self.moved()
        shown = [*self.parameters, *(f"{name}{tail}" for name in self.columns for tail in ("_a", "_b", CHANGE))]
        cells = [[_cell(name, row[name]) for name in shown] for row in moved.to_dicts()]
        names = [
            name if name == short else f"{name} ({short})" for short, name in (("a", self.a.name), ("b", self.b.name))
        ]
        title = f"{' and '.join(names)}: {len(moved)} of {plural(len(self.pairs), 'point')} moved"
        settings = [f"{name}: {a} in a, {b} in b" for name, (a, b) in self.changed_settings().items()]
        return html_table(title, shown if cells else [], cells, *settings)

    def changed_settings(self) -> dict[str, tuple[object, object]]:
        """What two runs, sweeps or evaluations differ in as a whole, in A and in B; None: it is not set there."""
        found: dict[str, tuple[object, object]] = {}
        if self.a.point is not None:
            for name in self.a.parameters:
                if name in self.b.parameters and name not in self.pairs.columns:
                    found[name] = self.a.table[name][0], self.b.table[name][0]
            for name in dict.fromkeys([*self.a.settings, *self.b.settings]):
                was, now = self.a.settings.get(name), self.b.settings.get(name)
                if was != now and name not in found and not is_list(was or now):  # lists say which points there are
                    found[name] = was, now
        elif self.a.is_run and self.b.is_run:
            a, b = self.a.table, self.b.table
            for name in dict.fromkeys([*self.a.parameters, *self.b.parameters]):
                was, now = (side[name][0] if name in side.columns else None for side in (a, b))
                if was != now:
                    found[name] = was, now
        elif not (self.a.is_run or self.b.is_run):
            for side, against, is_a in ((self.a, self.b, True), (self.b, self.a, False)):
                for name in side.parameters:
                    if name not in against.parameters and len(side.table):
                        value = side.table[name][0]  # the same for all points: see `_shared_parameters`
                        found[name] = (value, None) if is_a else (None, value)
        return found

    def moved_path(self) -> list[tuple[str, float, float]]:
        """Of two explained runs, the classes of part on their critical paths with the time in A and in B (ns).

        The largest difference comes first; the differences add up to that of the latencies. Without both it is empty.
        """
        return _list_moved(self.a.spent_ns, self.b.spent_ns)

    def moved_operators(self) -> list[tuple[str, float, float]]:
        """Of two networks, their operators with the time in a step of A and of B (ns).

        The largest difference comes first; the differences add up to that of the steps. Without both it is empty.
        """
        return _list_moved(self.a.operators_ns, self.b.operators_ns)

    def moved_energy(self) -> list[MovedEnergy]:
        """Of two kept runs, where their energies differ; the differences add up to that of the energies."""
        return compare_energies(self.a.energies, self.b.energies)

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
    """Compare two sweeps, runs or evaluations: directories as `kernbench sweep`, `kernbench evaluate` and `kernbench run --out`
    leave them, or their files.

    `columns` are compared besides `COMPARED`. Errors: InputError for what is neither a sweep nor a run, for an unknown column,
    and for points that cannot be paired since one side varies what the other does not have.
    """
    return compare_sides(read_side(Path(a)), read_side(Path(b)), columns)


def compare_sides(one: Side, other: Side, columns: Sequence[str] = ()) -> Comparison:
    """As `compare`, of sides that have been read."""
    if (one.point is None) != (other.point is None):
        raise InputError(f"{one.name} and {other.name} are not of one kind: only one of them is an evaluation")
    known = [[name for name in side.table.columns if side.table[name].dtype.is_numeric()] for side in (one, other)]
    usual = [name for name in _list_compared(one, other) if all(name in figures for figures in known)]
    wanted = tuple(dict.fromkeys([*usual, *columns]))
    for side, figures in zip((one, other), known, strict=True):
        for column in columns:
            if column not in figures:
                raise InputError(f"{side.name} has no figures {column!r}{suggest(column, figures)}")
    if one.is_run and other.is_run:
        return _compare(one, other, wanted, ())
    return _compare(one, other, wanted, _shared_parameters(one, other))


def _list_compared(one: Side, other: Side) -> list[str]:
    """What is compared of any two: of networks the step, which all layers count in, and the rates that follow from it."""
    known = [
        name
        for name in OF_NETWORKS
        if all(name in side.table.columns and len(side.table[name].drop_nulls()) for side in (one, other))
    ]
    if STEP not in known:
        return list(COMPARED)
    return [*known, *(name for name in COMPARED if not name.endswith("_ns"))]


def read_side(path: Path) -> Side:
    """The table of a sweep or the figures of a run. Errors: InputError for what is neither."""
    inside = [path] if is_file(path) else [path / TABLE, path / RUN, *_list_evaluations(path)]
    file = next((file for file in inside if is_file(file)), None)
    if not exists(path):
        raise InputError(f"there is no {shorten(path)}; give what a sweep, a run or an evaluation has kept (--out)")
    if file is None or file.suffix not in (".parquet", ".json"):
        raise InputError(
            f"{shorten(path)} is neither a sweep nor a run: it has no {TABLE} and no {RUN}, nor is it an evaluation"
        )
    try:
        if file.suffix == ".parquet":
            side = Side(str(path), read_sealed_parquet(file), is_run=False, effects=read_effects(file.parent))
        else:
            side = read_summary(str(path), load_sealed_json(file))
            side = replace(side, energies=read_energies(file.parent)) if side.is_run else side
        _check_types(side.table)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        *unreadable(),
    ) as error:
        raise InputError(
            f"{file} is not the table of a sweep nor the figures of a run or an evaluation ({shorten(error)})"
        ) from None
    return side


def _list_evaluations(path: Path) -> list[Path]:
    """The summaries of evaluations in a directory: those beside a table of their name. Errors: InputError for several."""
    try:
        found = [file for file in sorted(path.glob("*.json")) if is_file(file.with_suffix(".parquet"))]
    except OSError:
        return []
    if len(found) > 1:
        raise InputError(f"{shorten(path)} has several evaluations; name one: {', '.join(file.name for file in found)}")
    return found


def read_summary(name: str, summary: Mapping[str, Any]) -> Side:
    """A run, or an evaluation. Errors: KeyError, ValueError and others for neither."""
    if "evaluation" not in summary:
        return Side(
            name, _read_run(summary), is_run=True, spent_ns=_read_path(summary), operators_ns=_read_operators(summary)
        )
    import polars

    table = polars.DataFrame(summary["rows"], infer_schema_length=None).with_columns(
        status=polars.lit(OK), fidelity=polars.lit(summary["mode"])
    )
    point = tuple(table.select(summary["point"]).columns)
    settings = {**summary["settings"], **{TOPOLOGY + path: value for path, value in summary["overrides"].items()}}
    return Side(name, table, is_run=False, point=point, settings=settings)


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
    known: dict[str, Any] = {**(result.get("network") or {}), **result}
    figures = {name: known.get(name) for name in COLUMNS if name not in ("status", "error")}
    kinds = {name: COLUMNS[name] for name in figures}
    return polars.DataFrame(
        [{**settings, **figures, "fidelity": result.get("mode"), "status": OK}], schema_overrides=kinds
    )


def _read_path(result: Mapping[str, Any]) -> dict[str, float] | None:
    if "explain" not in result:
        return None
    return {str(kind): float(ns) for kind, ns in result["explain"]["critical_path"].items()}


def _read_operators(result: Mapping[str, Any]) -> dict[str, float] | None:
    network = result.get("network")
    if network is None:
        return None
    found: dict[str, float] = {}
    for row in network["operators"]:
        name = str(row["operator"])
        found[name] = found.get(name, 0.0) + row["times"] * float(row["ns"])
    return found


def _list_moved(a: Mapping[str, float] | None, b: Mapping[str, float] | None) -> list[tuple[str, float, float]]:
    """What either has, with both values, the largest difference first; nothing without both."""
    if a is None or b is None:
        return []
    found = [(name, a.get(name, 0.0), b.get(name, 0.0)) for name in dict.fromkeys([*a, *b])]
    return sorted(found, key=lambda one: (-abs(one[2] - one[1]), one[0]))


def _shared_parameters(one: Side, other: Side) -> tuple[str, ...]:
    shared = [name for name in one.parameters if name in other.parameters]
    if one.point is not None:
        shared = [name for name in shared if not _is_setting(one.table[name], other.table[name])]
    for side, against in ((one, other), (other, one)):
        for name in side.parameters:
            if name not in shared and side.table[name].n_unique() > 1:
                raise InputError(
                    f"{side.name} varies {name!r}, which {against.name} does not have: which points are the same?"
                )
    return tuple(shared)


def _is_setting(one: polars.Series, other: polars.Series) -> bool:
    """Whether a column has one value on each side, and another there."""
    return one.n_unique() == other.n_unique() == 1 and one[0] != other[0]


def _compare(one: Side, other: Side, columns: tuple[str, ...], shared: tuple[str, ...]) -> Comparison:
    import polars

    keys = list(shared) or [PLACE]
    a, b = _keyed(one.table, other.table, keys), _keyed(other.table, one.table, keys)
    left, right = (
        side.select(
            *keys,
            *(polars.col(name).alias(f"{name}_{tail}") for name in ("status", "fidelity", *columns)),
            *(
                polars.col(name).alias(f"{name}_{tail}")
                for name in (ALGORITHM,)
                if name in a.columns and name in b.columns
            ),
            *(polars.Series(f"{name}{BOUND}_{tail}", find_senses(side, name), polars.String) for name in columns),
        )
        for side, tail in ((a, "a"), (b, "b"))
    )
    pairs = left.join(right, on=keys, how="inner", nulls_equal=True, maintain_order="left").with_columns(
        _change(polars.col(f"{name}_a"), polars.col(f"{name}_b")).alias(name + CHANGE) for name in columns
    )
    fidelities = [pairs[f"fidelity_{tail}"] for tail in "ab"]
    bounded = [is_analytic(fidelity) for fidelity in fidelities]
    simulated = [fidelity.is_not_null() & ~bounds for fidelity, bounds in zip(fidelities, bounded, strict=True)]
    bounded_a, bounded_b = bounded[0] & simulated[1], bounded[1] & simulated[0]
    pairs = pairs.filter(~(bounded_a | bounded_b))
    senses = [f"{name}{BOUND}_{tail}" for name in columns for tail in "ab"]
    senses += [name for name in pairs.columns if name.startswith(ALGORITHM)]
    pairs = pairs.drop(name for name in senses if pairs[name].is_null().all())
    only_a = a.join(b, on=keys, how="anti", nulls_equal=True, maintain_order="left")
    only_b = b.join(a, on=keys, how="anti", nulls_equal=True, maintain_order="left")
    telling = tuple(name for name in shared if len(pairs) and pairs[name].n_unique() > 1)
    return Comparison(
        one,
        other,
        columns,
        telling,
        pairs,
        only_a,
        only_b,
        int(bounded_a.sum()),
        int(bounded_b.sum()),
        _count_turnable(one, other, a.join(b, on=keys, how="inner", nulls_equal=True, suffix="_b")),
    )


def _count_turnable(one: Side, other: Side, both: polars.DataFrame) -> int | None:
    """Of points whose latencies differ, how many the ranges could turn around; None without error bars on both sides."""
    if one.effects is None or other.effects is None:
        return None
    changed = both.filter(both["latency_ns"] != both["latency_ns_b"])
    return count_turnable(one.effects, other.effects, zip(changed["key"], changed["key_b"], strict=True))


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


def _cell(column: str, value: object) -> str:
    if value is None:
        return ""
    if column.endswith(CHANGE):
        return f"{value:+.3%}"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _change(a: polars.Expr, b: polars.Expr) -> polars.Expr:
    import polars

    return polars.when(a.eq_missing(b)).then(0.0).otherwise(b / a - 1)
