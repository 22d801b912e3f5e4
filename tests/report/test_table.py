from __future__ import annotations

from rich.console import Console

from kernbench.report.table import best_points, rank_points
from tests.report.tables import table


def shown(*arguments: object) -> list[list[str]]:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(best_points(*arguments))  # type: ignore[arg-type]
    return [line.split() for line in captured.get().splitlines() if line.strip()]


def test_the_same_work_is_ranked_by_latency() -> None:
    ranked, by = rank_points(table(lambda gbs: 800 / gbs, topology__ucie__gbs=[8, 32, 16]))
    assert by == "latency"
    assert ranked["topology.ucie.gbs"].to_list() == [32, 16, 8]


def test_different_work_is_ranked_by_what_is_achieved() -> None:
    ranked, by = rank_points(table(lambda m: float(m), M=[64, 32]))
    assert by == "achieved TFLOPS"
    assert ranked["M"].to_list() == [32, 64]


def test_failed_points_are_not_ranked() -> None:
    ranked, _ = rank_points(table(lambda m: None if m == 2 else 1.0, M=[1, 2, 3]))
    assert ranked["M"].to_list() == [1, 3]


def test_the_table_shows_what_varies_and_what_came_out() -> None:
    lines = shown(table(lambda gbs, _: 800.5 / gbs, topology__ucie__gbs=[8, 0.5], variant=["a"]), 1)
    assert lines[0] == ["best", "1", "of", "2", "points", "by", "latency"]
    assert (lines[1], lines[2]) == (["topology."], ["ucie."])
    assert lines[3] == ["gbs", "latency", "ns", "TFLOPS", "busy", "bottleneck"]
    assert lines[5] == ["8", "100.1", "9.994", "80%", "sip0.cube0.hbm_ctrl.pe0"]


def test_a_table_of_failures_is_empty() -> None:
    assert shown(table(lambda m: None, M=[1, 2]))[0] == ["best", "0", "of", "2", "points", "by", "latency"]
