"""Points that do unequal work, of which the least time is wanted."""

from __future__ import annotations

import polars
import pytest

from kernbench.report.unequal_work import UnequalWork, find_unequal_work, tell_unequal_work
from kernbench.sweep.grid.grid import Objective
from tests.report.sample_tables import table

LATENCY, COST = Objective("latency_ns"), Objective("topology.hbm.channel_gbs")


def swept(flops: str, **axes: list[object]) -> polars.DataFrame:
    """A table over axes; `flops` is a formula of its columns."""
    made = table(lambda *values: float(sum(map(hash, values)) % 97 + 3), **axes)
    times = made.with_columns(pe_exec_ns=polars.col("latency_ns") - 1)
    return times.with_columns((polars.sql_expr(flops) / polars.col("pe_exec_ns")).alias("achieved_tflops"))


AXES = {"M": [1, 2, 4], "variant": ["a", "b"], "pes": [1, 2], "topology__hbm__channel_gbs": [8, 16]}


def test_the_parameters_that_change_the_work_are_named() -> None:
    found = swept("M * 7.0", **AXES)
    assert find_unequal_work(found, [LATENCY, COST]) == UnequalWork(pytest.approx(4.0), ["M"])
    assert find_unequal_work(swept("M * 7.0 + pes * 0.0", **AXES), [COST, Objective("pe_exec_ns")]) is not None
    both = find_unequal_work(swept("M * pes * 1.0", **AXES), [LATENCY])
    assert both == UnequalWork(pytest.approx(8.0), ["M", "pes"])


def test_the_sentence_says_what_would_do() -> None:
    assert tell_unequal_work(swept("M * pes * 1.0", **AXES), [LATENCY, COST]) == [
        "the points do unequal work, up to 8 times as many useful flops by M and pes, and in min latency_ns less work counts "
        "as better: compare points of equal M and pes, or give objectives: [max achieved_tflops]"
    ]


@pytest.mark.parametrize(
    "objective", [Objective("achieved_tflops", least=False), COST, Objective("max_ns", least=False)]
)
def test_who_asks_for_no_least_time_hears_nothing(objective: Objective) -> None:
    assert tell_unequal_work(swept("M * 7.0", **AXES), [objective]) == []


@pytest.mark.parametrize("flops", ["3.0", "M * 0.0", "0.1 * 3.0 / 7.0"])
def test_points_of_equal_work_and_of_none_are_nothing_to_tell(flops: str) -> None:
    assert tell_unequal_work(swept(flops, **AXES), [LATENCY]) == []


def test_points_that_differ_in_all_they_vary_name_the_numbers() -> None:
    found = swept("M * 1.0", M=[1, 2], N=[3, 5], variant=["a", "b"])
    drawn = found.filter(
        (polars.col("M") == 1) & (polars.col("N") == 3) | (polars.col("M") == 2) & (polars.col("N") == 5)
    )
    assert find_unequal_work(drawn.head(3), [LATENCY]) == UnequalWork(pytest.approx(2.0), ["M", "N"])


def test_failed_points_and_other_tables_are_left_out() -> None:
    failed = swept("M * 7.0", M=[1, 2]).with_columns(
        status=polars.Series(["ok", "error"]), achieved_tflops=polars.Series([1.0, None])
    )
    assert tell_unequal_work(failed, [LATENCY]) == []
    assert tell_unequal_work(failed.drop("pe_exec_ns"), [LATENCY]) == []
