from __future__ import annotations

import polars
import pytest

from kernbench.report.tables.sweep_tables import best_points, front_points, rank_points, sensitivity_table
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.sensitivity import find_sensitivities
from kernbench.text_table import TextTable
from tests.report.sample_tables import table, traffic_table

LATENCY, TFLOPS = Objective("latency_ns"), Objective("achieved_tflops", least=False)


def shown(made: TextTable, width: int | None = None) -> list[str]:
    return ["".join(text for text, _ in line) for line in made.lay_out(width)]


def test_points_are_ranked_by_the_objective_without_those_that_failed() -> None:
    given = table(lambda m: None if m == 2 else 10.0 * m, M=[3, 2, 1])
    assert rank_points(given, LATENCY)["M"].to_list() == [1, 3]
    assert rank_points(given, Objective("M", least=False))["M"].to_list() == [3, 1]


def test_the_best_points_show_what_varies_and_what_limits() -> None:
    lines = shown(best_points(table(lambda m: 1000.0 * m, M=[2, 1]), [LATENCY], most=1))
    assert lines[0] == "best 1 of 2 points by latency_ns"
    assert lines[1].split() == ["M", "latency", "ns", "TFLOPS", "busy", "bottleneck"]
    assert lines[2].split() == ["1", "1,000.0", "1.000", "80%", "sip0.cube0.hbm_ctrl.pe0"]


def test_the_best_points_of_traffic_show_what_is_accepted() -> None:
    made = traffic_table(lambda b: 0.1 * b, topology__buffer_flits=[1, 2])
    assert shown(best_points(made, [Objective("latency_ns")]))[1:] == [
        "buffer_flits  latency ns  accepted  p99 ns",
        "           1        10.0     0.100    20.0",
        "           2        20.0     0.200    40.0",
    ]


def test_what_computes_nothing_shows_what_it_moves() -> None:
    made = table(lambda m: 1000.0 * m, M=[1, 2]).with_columns(achieved_tflops=polars.lit(0.0))
    assert shown(best_points(made, [LATENCY]))[1].split() == ["M", "latency", "ns", "GB/s", "busy", "bottleneck"]


def test_collectives_show_which_algorithm_they_took() -> None:
    made = table(lambda m: 1000.0 * m, M=[1, 2]).with_columns(collective_algorithm=polars.Series(["tree", "ring"]))
    lines = shown(best_points(made, [LATENCY]))
    assert lines[1].endswith("bottleneck               collective algorithm")
    assert [line.split()[-1] for line in lines[2:]] == ["tree", "ring"]


def test_bounds_alone_have_no_columns_of_bottlenecks_and_small_shares_keep_digits() -> None:
    without = {
        "bottleneck": polars.lit(None, polars.String),
        "bottleneck_utilisation": polars.lit(None, polars.Float64),
    }
    made = table(lambda m: 1000.0 * m, M=[1, 2]).with_columns(**without, tflops_of_peak=0.0123 / polars.col("M"))
    lines = shown(best_points(made, [LATENCY]))
    assert lines[1].split() == ["M", "latency", "ns", "TFLOPS", "of", "peak"]
    assert [line.split()[-1] for line in lines[2:]] == ["1.2%", "0.6%"]


def test_a_narrow_terminal_gets_fewer_columns_and_whole_figures() -> None:
    axes = {"topology__hbm__channel_gbs": [4, 8], "bytes_per_pe": [1024, 65536]}
    made = best_points(table(lambda gbs, size: 12345.6 * size / gbs, **axes), [LATENCY])
    assert "TFLOPS" in shown(made)[1]
    lines = shown(made, width=64)
    assert [line.split() for line in lines[1:4]] == [
        ["hbm."],
        ["channel_", "bytes_"],
        ["gbs", "per_pe", "latency", "ns", "busy", "bottleneck"],
    ]
    assert lines[4].split() == ["8", "1024", "1,580,236.8", "80%", "sip0.cube0.hbm_ctrl.pe0"]
    assert lines[8] == "left out, for lack of room: TFLOPS; it is in table.parquet"


def test_what_says_why_is_left_out_last() -> None:
    axes = {"topology__hbm__channel_gbs": [4, 8], "bytes_per_pe": [1024, 65536]}
    lines = shown(best_points(table(lambda gbs, size: 12345.6 * size / gbs, **axes), [LATENCY]), width=44)
    assert lines[1].split() == ["latency", "ns", "busy", "bottleneck"]
    assert lines[2].split() == ["1,580,236.8", "80%", "sip0.cube0.hbm_ctrl.pe0"]
    assert " ".join(lines[6:]) == (
        "left out, for lack of room: hbm.channel_gbs, bytes_per_pe, TFLOPS; they are in table.parquet"
    )
    assert "latency ns  1,580,236.8" in shown(
        best_points(table(lambda size: 1580236.8 * size, size=[1, 2]), [LATENCY]), 30
    )


def test_rankings_leave_bounds_out_and_say_so() -> None:
    modes = polars.Series(["analytic", "hybrid", "hybrid"])
    given = table(lambda m: 10.0 * m, M=[1, 2, 3]).with_columns(fidelity=modes)
    lines = shown(best_points(given, [LATENCY]))
    assert lines[0] == (
        "best 2 of 2 simulated points by latency_ns; 1 more has only bounds, by which 1 may stand among these"
    )
    assert [line.split()[0] for line in lines if "80%" in line] == ["2", "3"]
    sensitivities = shown(sensitivity_table(find_sensitivities(given, [LATENCY])))
    assert "in 2 of 3 points: those that were simulated" in " ".join(sensitivities)
    assert "best point at" in sensitivities[1]


def test_where_all_are_bounds_figures_are_marked() -> None:
    given = table(lambda m: 10.0 * m, M=[1, 2]).with_columns(fidelity=polars.lit("analytic"))
    lines = shown(best_points(given, [LATENCY, TFLOPS]))
    assert lines[0] == "best 2 of 2 points by latency_ns; all are bounds"
    sensitivities = " ".join(shown(sensitivity_table(find_sensitivities(given, [LATENCY]))))
    assert "averaged over all others, of bounds alone: nothing was simulated" in " ".join(sensitivities.split())
    assert lines[2].split()[:5] == ["1", "≥", "10.0", "≤", "100.000"]


def test_a_long_front_is_cut_and_says_so() -> None:
    given = table(lambda m: 10.0 / m, M=[1, 2, 3, 4])
    lines = shown(front_points(given, [LATENCY, Objective("M")], most=2))
    assert lines[0] == "Pareto front of min latency_ns, min M: 4 of 4 points, 2 shown"
    assert [line.split()[0] for line in lines if "80%" in line] == ["4", "3"]


@pytest.mark.slow
def test_sensitivities_are_shown_in_words() -> None:
    lines = shown(sensitivity_table(find_sensitivities(table(lambda m: 100.0 / m, M=[1, 2]), [LATENCY])))
    assert lines[2].split() == ["latency_ns", "M", "2", "1", "100.0%", "100.0%", "-1.00", "%"]
