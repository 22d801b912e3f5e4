"""The objectives of a sweep whose grid names none."""

from __future__ import annotations

import polars
import pytest

from kernbench.sweep.results.objectives import default_objectives
from tests.report.sample_tables import table

STEPS = {"step_ns": [16.0, 20.0], "sequences_s": [1.0, 2.0]}
TOKENS = {"tokens_s": [1.0, 2.0], "user_tokens_s": [1.0, 1.0]}


def objectives(axis: str, **columns: list[float] | list[None]) -> list[str]:
    found = table(float, **{axis: [1, 2]}).with_columns(
        polars.Series("achieved_tflops", [1.0, 2.0]),
        *(polars.Series(name, values, polars.Float64) for name, values in columns.items()),
    )
    return [one.column for one in default_objectives(found, of_traffic=False)]


@pytest.mark.parametrize(
    ("columns", "machines", "batches"),
    [
        ({}, ["latency_ns"], ["achieved_tflops"]),
        ({"step_ns": [None, None], "tokens_s": [None, None]}, ["latency_ns"], ["achieved_tflops"]),
        (STEPS, ["step_ns"], ["sequences_s"]),
        (STEPS | TOKENS, ["step_ns"], ["user_tokens_s", "tokens_s"]),
    ],
)
def test_networks_are_told_by_their_steps_and_not_by_the_launches_that_stand_for_them(columns, machines, batches):
    assert objectives("topology__hbm__latency_ns", **columns)[:1] == machines
    assert objectives("batch", **columns) == batches
