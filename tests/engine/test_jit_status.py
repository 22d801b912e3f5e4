"""The first call of a loop: alone and outside of time limits if it compiles, as any other call if it does not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kernbench.engine import jit_status
from kernbench.errors import LimitError
from kernbench.limits.time_limit import limit_time

HELD: list[str] = []


@contextmanager
def held_lock() -> Iterator[None]:
    HELD.append("held")
    yield
    HELD.append("free")


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The functions that are not in the cache, to be changed."""
    HELD.clear()
    found = {"loop.run", "batch.run_points"}
    monkeypatch.setattr(jit_status, "is_warm", lambda function="loop.run": function not in found)
    monkeypatch.setattr(jit_status, "compile_lock", held_lock)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    return found


def test_a_call_that_compiles_holds_the_lock(missing: set[str]) -> None:
    assert jit_status.call_first(lambda *given: (given, HELD[:]), 1, 2) == ((1, 2), ["held"])
    assert HELD == ["held", "free"]


def test_any_other_call_does_not(missing: set[str]) -> None:
    missing.clear()
    assert jit_status.call_first(lambda: HELD[:], group=True) == []


def test_a_batch_has_a_loop_of_its_own(missing: set[str]) -> None:
    missing.remove("loop.run")
    assert jit_status.call_first(lambda: HELD[:]) == []
    assert jit_status.call_first(lambda: HELD[:], group=True) == ["held"]


def spin(seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        pass


def test_a_time_limit_counts_no_compiling(missing: set[str]) -> None:
    with limit_time(0.2, lambda: "a run"):
        jit_status.call_first(spin, 0.6)
    missing.clear()
    with pytest.raises(LimitError), limit_time(0.2, lambda: "a run"):
        jit_status.call_first(spin, 5)
