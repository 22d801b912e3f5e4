"""Two runs beside each other, as the page shows them: what `kernbench compare` says of them, and the busiest parts of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernbench.errors import InputError, shorten
from kernbench.schema.guards import is_mapping
from kernbench.sealing import load_sealed_json
from kernbench.sweep.results.comparison import CHANGE, RUN, Comparison, compare
from kernbench.web.sources import RunSource

FIGURES = (
    "makespan_ns",
    "achieved_tflops",
    "achieved_gbs",
    "tflops_of_peak",
    "gbs_of_peak",
    "bottleneck_utilisation",
    "dynamic_j",
    "power_w",
    "events",
    "flit_hops",
)  # besides those that are always compared
WHOLE = ("bench", "topology", "mode")  # what a run is of, besides its parameters


def compare_runs(a: RunSource, b: RunSource) -> dict[str, Any]:
    """What differs between two runs, in JSON's types. Errors: InputError for a directory that is not that of a run."""
    for source in (a, b):
        source.file(RUN)  # a link that leads out is an error
    plain = compare(a.directory, b.directory)
    both = [set(side.table.columns) for side in (plain.a, plain.b)]
    known = [name for name in FIGURES if all(name in names for names in both) and _has_figures(plain, name)]
    found = compare(a.directory, b.directory, known)
    row = found.pairs.to_dicts()[0] if len(found.pairs) else {}
    results = _read_result(a), _read_result(b)
    whole = {name: (results[0].get(name), results[1].get(name)) for name in WHOLE}
    settings = {name: values for name, values in whole.items() if values[0] != values[1]} | found.changed_settings()
    return {
        "a": a.name,
        "b": b.name,
        "settings": [{"name": name, "a": _tell(one), "b": _tell(other)} for name, (one, other) in settings.items()],
        "figures": [
            {"name": name, "a": row[f"{name}_a"], "b": row[f"{name}_b"], "change": _finite(row[name + CHANGE])}
            for name in found.columns
            if row
        ],
        "critical_path": [{"kind": kind, "a_ns": one, "b_ns": other} for kind, one, other in found.moved_path()],
        "energy": [one._asdict() for one in found.moved_energy()],
        "utilisation": _pair_usage(
            *(_read_usage(source, result) for source, result in zip((a, b), results, strict=True))
        ),
        "unexplained": [source.name for source, side in ((a, found.a), (b, found.b)) if side.spent_ns is None],
    }


def _has_figures(found: Comparison, name: str) -> bool:
    return all(side.table[name].dtype.is_numeric() for side in (found.a, found.b))


def _tell(value: object) -> str | None:
    return None if value is None else str(value)


def _finite(change: float | None) -> float | None:
    return change if change is not None and abs(change) != float("inf") else None


def _read_result(source: RunSource) -> Mapping[str, Any]:
    try:
        if is_mapping(found := load_sealed_json(source.file(RUN))):
            return found
    except (OSError, ValueError, RecursionError) as error:
        raise _malformed(source, error) from None
    raise _malformed(source, "it is no object")


def _read_usage(source: RunSource, result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of a run's table of utilisation, by class; empty of a run that was not explained."""
    try:
        rows = result.get("explain", {}).get("utilisation", [])
        return {str(row["kind"]): {"most": float(row["most"]), "busiest": str(row["busiest"])} for row in rows}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _malformed(source, error) from None


def _malformed(source: RunSource, why: object) -> InputError:
    return InputError(f"{source.file(RUN)} is not what a run leaves ({shorten(why)})")


def _pair_usage(ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    if not (ours and theirs):
        return []
    kinds = dict.fromkeys([*ours, *theirs])
    return [{"kind": kind, "a": ours.get(kind), "b": theirs.get(kind)} for kind in kinds]
