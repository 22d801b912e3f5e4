from __future__ import annotations

import pytest

from kernbench.sweep.execution import shared_structure
from kernbench.sweep.execution.batches import Batch
from kernbench.sweep.execution.shared_structure import SharedStructure
from kernbench.sweep.execution.worker import attempt, attempt_all, run_point
from kernbench.sweep.point import Point
from tests.sweep import fakes


def point(m: int) -> Point:
    return Point(0, "abc", "toy", "tiny", "flit", {"M": m}, {"hbm.channels": 4})


def test_columns_have_the_names_of_the_grid() -> None:
    assert point(1).columns == {"M": 1, "topology.hbm.channels": 4}


def test_a_row_carries_its_key() -> None:
    assert attempt(fakes.run_fake, point(5))["key"] == "abc"


def test_an_error_becomes_a_row_with_its_sentence() -> None:
    row = attempt(fakes.run_fake, point(13))
    assert (row["status"], row["error"], row["key"]) == ("error", "thirteen brings bad luck", "abc")


def test_any_exception_becomes_a_row() -> None:
    def run(_: Point) -> object:
        raise ZeroDivisionError("one by none")

    assert attempt(run, point(1))["error"] == "unexpected ZeroDivisionError: one by none"


def test_a_bench_that_exits_fails_like_any_other() -> None:
    def run(_: Point) -> object:
        raise SystemExit(3)

    assert attempt(run, point(1))["error"] == "unexpected SystemExit: 3"


def test_ctrl_c_within_an_import_is_no_row() -> None:
    def run(_: Point) -> object:
        raise ImportError("no core") from KeyboardInterrupt()

    with pytest.raises(KeyboardInterrupt):
        attempt(run, point(1))


def test_an_error_of_shared_work_is_in_the_rows_of_all_that_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(_: Point) -> SharedStructure:
        raise ZeroDivisionError("one by none")

    monkeypatch.setattr(shared_structure, "find_structure", find)
    rows = list(attempt_all(run_point, Batch((point(1), point(2)), True)))
    assert [row["error"] for row in rows] == ["unexpected ZeroDivisionError: one by none"] * 2


def test_what_a_bench_prints_is_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    def run(_: Point) -> object:
        print("hello")
        return fakes.result(1.0)

    attempt(run, point(1))
    assert capsys.readouterr().out == ""
