"""The choice of an algorithm and of the size of its pieces by their estimates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kernbench.ccl.choice import choose
from kernbench.ccl.plan import Plan
from kernbench.ccl.wiring import World

WORLD = World(2, 0, 2, 1, 1, 1)
PLAN = Plan("f16", chunk=2048)


def algorithm(name: str, estimate: Any) -> Any:
    return SimpleNamespace(name=name, estimate=estimate)


def chosen(*algorithms: Any, nbytes: int = 100_000, fixed: bool = False) -> tuple[str, int, float | None]:
    found = choose(algorithms, lambda one: one.name, WORLD, nbytes, PLAN, fixed=fixed)
    return found.algorithm.name, found.chunk, found.estimate_ns


def test_the_quickest_wins_with_its_best_piece() -> None:
    slow = algorithm("slow", lambda model, world, nbytes, plan: 100 + plan.chunk / 1000)
    quick = algorithm("quick", lambda model, world, nbytes, plan: 50 + abs(plan.chunk - 512))
    assert chosen(slow, quick) == ("quick", 512, 50)


def test_of_equals_the_first_with_the_largest_piece() -> None:
    one, other = (algorithm(name, lambda model, world, nbytes, plan: 7) for name in ("one", "other"))
    assert chosen(one, other) == ("one", 2048, 7)


def test_a_size_that_is_given_is_the_only_one() -> None:
    tried = []

    def estimate(model: str, world: World, nbytes: int, plan: Plan) -> float:
        tried.append((model, nbytes, plan.chunk))
        return 3

    assert chosen(algorithm("a", estimate), algorithm("b", estimate), fixed=True) == ("a", 2048, 3)
    assert tried == [("a", 100_000, 2048), ("b", 100_000, 2048)]


def test_pieces_are_neither_tiny_nor_needlessly_many() -> None:
    tried = []

    def estimate(model: str, world: World, nbytes: int, plan: Plan) -> float:
        tried.append(plan.chunk * 2)
        return 3

    chosen(algorithm("a", estimate))
    assert tried == [4096, 2048, 1024, 512, 256]
    tried.clear()
    chosen(algorithm("a", estimate), nbytes=700)
    assert tried == [4096, 1024, 512, 256]


def test_who_cannot_say_is_left_out_unless_alone() -> None:
    quick = algorithm("quick", lambda model, world, nbytes, plan: 5)
    unable = algorithm("unable", lambda model, world, nbytes, plan: None)
    assert chosen(algorithm("mine", None), unable, quick)[0] == "quick"
    assert chosen(algorithm("mine", None)) == ("mine", 2048, None)


def test_nothing_is_estimated_where_nothing_is_to_choose() -> None:
    def estimate(*_: object) -> float:
        raise AssertionError("estimated")

    assert chosen(algorithm("mine", estimate), fixed=True) == ("mine", 2048, None)
