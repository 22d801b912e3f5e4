"""Fresh random programs in every run of the tests, for a share of the time that they are given.

The seed of a run is in `SEED` of the environment, so that processes that share the tests agree on it; `tests/conftest.py`
puts it there, and `pytest --seed N` gives it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from time import monotonic

from kernbench.program.program import Program
from tests.engine.random_programs import draw_program

SEED = "KERNBENCH_TEST_SEED"
SECONDS = "KERNBENCH_TEST_SECONDS"  # for all tests with fresh programs together; CI gives more than is usual
DEFAULT_SECONDS = 12


def run_seed() -> int:
    """The seed of this run of the tests."""
    return int(os.environ[SEED])


def seconds_of(share: float) -> float:
    """A share of the time that this run of the tests gives to what is fresh."""
    return share * float(os.environ.get(SECONDS, DEFAULT_SECONDS))


def draw_seeds(share: float) -> Iterator[int]:
    """Seeds, until a share of the time is over; at least one."""
    ends = monotonic() + seconds_of(share)
    seed = run_seed()
    yield seed
    while monotonic() < ends:
        seed += 1
        yield seed


def check_fresh(kind: str, share: float, find_difference: Callable[[Program], str | None]) -> None:
    """Draw programs of a kind for a share of the time; fail at the first that differs, and say how to run it again."""
    for number, seed in enumerate(draw_seeds(share), 1):
        difference = find_difference(draw_program(kind, seed))
        assert difference is None, (
            f"{kind} {seed}: {difference}. It is program {number} of a run with --seed {run_seed()}; alone: "
            f"python -m tests.engine.soak --kind {kind} --seed {seed} --programs 1 --shrink"
        )
