"""Points as users give them: some fields, one value a point or one for all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.errors import InputError, suggest
from kernbench.machine.overrides import read_overrides

if TYPE_CHECKING:
    import polars as pl


def read_points(
    points: Mapping[str, Any] | pl.DataFrame, base: Mapping[str, float], known: Collection[str]
) -> tuple[dict[str, np.ndarray], int]:
    """float64[point] of each field of `base`, which says what a field is that `points` leaves out; and how many points.

    Errors: InputError for a field that is not in `known`, for values that no machine can have, or not as many of each.
    """
    given = points if isinstance(points, Mapping) else points.to_dict()
    columns = {field: np.asarray(values, np.float64) for field, values in read_overrides(given).items()}
    for field, values in columns.items():
        if field not in known:
            raise InputError(f"points vary {field!r}, which bounds do not follow{suggest(field, known)}")
        _check_values(field, values)
    counts = {field: len(values) for field, values in columns.items() if values.ndim}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{count} of {field!r}" for field, count in counts.items())
        raise InputError(f"points give {said}; give as many of each, or one for all points")
    count = next(iter(counts.values()), 1)
    return {field: np.broadcast_to(columns.get(field, value), count) for field, value in base.items()}, count


def _check_values(field: str, values: np.ndarray) -> None:
    if values.ndim > 1:
        raise InputError(f"points give {field!r} in {values.ndim} dimensions; give one value a point")
    time = field.endswith("_ns")  # all others are rates
    wrong = ~np.isfinite(values) | (values < 0 if time else values <= 0)
    if wrong.any():
        least = "at least 0" if time else "more than 0"
        raise InputError(f"points give {field!r} the value {values[wrong].flat[0]:g}; it must be {least}")
