from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from kernbench.errors import InputError
from kernbench.sweep.execution.batches import Batch
from kernbench.sweep.execution.point_progress import PointProgress, report_run
from kernbench.sweep.execution.shared_structure import SharedStructure
from kernbench.sweep.execution.thread_pool import run_in_threads
from kernbench.sweep.point import Point
from tests.sweep import fakes


def batches(*ms: int, size: int = 2) -> list[Batch]:
    made = [Point(i, f"key{i}", "toy", "tiny", "flit", {"M": m}, {}) for i, m in enumerate(ms)]
    return [Batch(tuple(made[i : i + size]), True) for i in range(0, len(made), size)]


class Fake(SharedStructure):
    """A structure whose points have the latency M; 13 has to run by itself, and 14 breaks everything."""

    def __init__(self, breaks: type[BaseException] = ZeroDivisionError) -> None:
        self.breaks = breaks
        self.threads: set[int] = set()
        self.begun = 0

    def run_all(self, points):
        self.threads.add(threading.get_ident())
        for point in points:
            self.begun += 1
            if point.parameters["M"] == 14:
                raise self.breaks
            yield None if point.parameters["M"] == 13 else fakes.result(float(point.parameters["M"]))


def finish(outcomes):
    """What was yielded, and what was returned."""
    kept = SimpleNamespace(left=None)

    def through():
        kept.left = yield from outcomes

    return list(through()), kept.left


def test_every_point_gets_its_row_in_a_thread() -> None:
    structure = Fake()
    found, left = finish(run_in_threads(batches(*range(1, 12)), structure, 2))
    assert {point.index: row["latency_ns"] for point, row in found} == {i: i + 1.0 for i in range(11)}
    assert all((row["key"], row["fidelity"], row["status"]) == (p.key, "flit", "ok") for p, row in found)
    assert left == []
    assert structure.threads
    assert threading.get_ident() not in structure.threads


def test_threads_pass_on_what_their_points_tell() -> None:
    class Telling(Fake):
        def run_all(self, points):
            report_run(points[0].index, 1, 2, 3)
            return super().run_all(points)

    heard: list[PointProgress] = []
    found, _ = finish(run_in_threads(batches(1, 2, 3), Telling(), 2, heard.append))
    assert len(found) == 3
    assert sorted(heard) == [PointProgress(i, "simulating", 1, 3, 0.5) for i in (0, 2)]


@pytest.mark.parametrize("breaks", [InputError, MemoryError])
def test_what_has_to_run_by_itself_is_handed_back(breaks: type[BaseException]) -> None:
    found, left = finish(run_in_threads(batches(1, 13, 2, 14, 3, 14, 4, 5, size=4), Fake(breaks), 3))
    assert sorted(row["latency_ns"] for _, row in found) == [1, 2, 3]
    assert sorted(batch.points[0].parameters["M"] for batch in left) == [4, 5, 13, 14, 14]
    assert all(batch.alike and len(batch) == 1 for batch in left)


def test_an_unexpected_error_is_in_the_rows_of_the_points_that_are_left() -> None:
    found, left = finish(run_in_threads(batches(1, 2, 14, 3, 4, 5, size=4), Fake(), 2))
    rows = {point.parameters["M"]: row for point, row in found}
    assert left == []
    failed = {m: row["error"] for m, row in rows.items() if row["status"] == "error"}
    assert failed == dict.fromkeys((14, 3), "unexpected ZeroDivisionError")
    assert [rows[m]["latency_ns"] for m in (1, 2, 4, 5)] == [1, 2, 4, 5]


def test_closing_ends_the_threads() -> None:
    structure, before = Fake(), {*threading.enumerate()}
    outcomes = run_in_threads(batches(*[1] * 10_000, size=100), structure, 2)
    next(outcomes)
    outcomes.close()
    assert {*threading.enumerate()} <= before
    assert structure.begun < 10_000
