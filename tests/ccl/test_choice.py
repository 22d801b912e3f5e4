"""The choice of an algorithm and of the size of its pieces by their estimates."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from kernbench.ccl.choice import Candidate, choose
from kernbench.ccl.plan import Plan
from kernbench.ccl.rehearsal import Outcome

PLAN = Plan("f16", chunk=2048)
FAR = 100_000  # bytes of the largest message, where nothing cuts it


def candidate(name: str, ns: Callable[[Plan], float] | None, bound: float = 0.0, largest: int = FAR) -> Candidate:
    """An algorithm whose messages have up to so many bytes, or as many as a piece."""

    def estimate(plan: Plan) -> Outcome | None:
        return None if ns is None else Outcome(ns(plan), min(largest, plan.chunk * 2))

    one: Any = SimpleNamespace(name=name)
    return Candidate(one, PLAN, estimate, lambda: bound)


def chosen(*candidates: Candidate, fixed: bool = False) -> tuple[str, int, float | None]:
    found = choose(candidates, fixed=fixed)
    return found.algorithm.name, found.chunk, found.estimate_ns


def never(_: Plan) -> float:
    raise AssertionError("estimated")


def test_the_quickest_wins_with_its_best_piece() -> None:
    slow = candidate("slow", lambda plan: 100 + plan.chunk / 1000)
    quick = candidate("quick", lambda plan: 90 + abs(plan.chunk - 512) / 100)
    assert chosen(slow, quick) == ("quick", 512, 90)


def test_of_equals_the_first_with_the_largest_piece() -> None:
    assert chosen(candidate("one", lambda _: 7, bound=5), candidate("other", lambda _: 7, bound=3)) == ("one", 2048, 7)


def test_a_size_that_is_given_is_the_only_one() -> None:
    tried: list[int] = []

    def ns(plan: Plan) -> float:
        tried.append(plan.chunk)
        return 3

    assert chosen(candidate("a", ns), candidate("b", ns), fixed=True) == ("a", 2048, 3)
    assert tried == [2048, 2048]


def test_pieces_are_neither_tiny_nor_larger_than_what_is_sent() -> None:
    tried: list[int] = []

    def ns(plan: Plan) -> float:
        tried.append(plan.chunk * 2)
        return 3

    chosen(candidate("a", ns))
    assert tried == [4096, 2048, 1024, 512, 256]
    tried.clear()
    chosen(candidate("a", ns, largest=700))
    assert tried == [4096, 512, 256]


def test_pieces_far_from_the_best_end_the_search() -> None:
    tried: list[int] = []

    def ns(plan: Plan) -> float:
        tried.append(plan.chunk)
        return 10_000 / plan.chunk

    assert chosen(candidate("a", ns)) == ("a", 2048, 10_000 / 2048)
    assert tried == [2048, 1024]


def test_who_cannot_be_quicker_is_not_estimated() -> None:
    assert chosen(candidate("slow", never, bound=6), candidate("quick", lambda _: 5))[0] == "quick"


def test_who_cannot_say_is_left_out_unless_alone() -> None:
    quick, unable = candidate("quick", lambda _: 5), candidate("unable", None)
    assert chosen(unable, quick)[0] == "quick"
    assert chosen(candidate("mine", None)) == ("mine", 2048, None)


def test_nothing_is_estimated_where_nothing_is_to_choose() -> None:
    assert chosen(candidate("mine", never), fixed=True) == ("mine", 2048, None)
