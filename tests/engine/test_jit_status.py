"""The first call of a loop: alone and outside of time limits if it compiles, as any other call if it does not."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kernbench.engine import jit_status
from kernbench.errors import LimitError
from kernbench.limits.time_limit import limit_time
from kernels_jit.compile.progress import Compiling, compiling

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
    monkeypatch.setattr(jit_status, "_entered", set())
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    return found


def looped(name: str) -> Callable[..., tuple[object, ...]]:
    """A loop by module and name, which returns its arguments and what is held."""

    def loop(*arguments: object) -> tuple[object, ...]:
        return *arguments, *HELD

    module, _, loop.__name__ = name.rpartition(".")
    loop.__module__ = f"kernels_jit.loop.{module}"
    return loop


def test_a_call_that_compiles_holds_the_lock_and_later_ones_do_not(missing: set[str]) -> None:
    loop = looped("loop.run")
    assert jit_status.enter(loop, 1, 2) == (1, 2, "held")
    assert HELD == ["held", "free"]
    HELD.clear()
    assert jit_status.enter(loop, 3) == (3,)


def test_a_loop_that_is_kept_is_called_without_the_lock(missing: set[str]) -> None:
    missing.clear()
    assert jit_status.enter(looped("loop.run")) == ()


def test_each_loop_is_looked_for_by_itself(missing: set[str]) -> None:
    missing.remove("loop.run")
    assert jit_status.enter(looped("loop.run")) == ()
    assert jit_status.enter(looped("batch.run_points")) == ("held",)


def spin(seconds: float) -> None:
    """Spends time; to the cache it is the loop of a run."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        pass


spin.__module__, spin.__name__ = "kernels_jit.loop.loop", "run"


def test_a_time_limit_counts_no_compiling(missing: set[str]) -> None:
    with limit_time(0.2, lambda: "a run"):
        jit_status.enter(spin, 0.6)
    missing.clear()
    jit_status._entered.clear()
    with pytest.raises(LimitError), limit_time(0.2, lambda: "a run"):
        jit_status.enter(spin, 5)


def test_the_clock_of_runs_stands_while_something_is_compiled() -> None:
    before = jit_status.running_s(), time.perf_counter()
    with compiling(spin):
        spin(0.2)
        with compiling(spin):  # a function that the first one calls
            spin(0.1)
    assert jit_status.running_s() - before[0] < time.perf_counter() - before[1] - 0.29


def test_a_library_logs_what_it_compiles(caplog: pytest.LogCaptureFixture) -> None:
    lines = jit_status.CompilingLines(jit_status._log)
    with caplog.at_level("INFO", jit_status.LOGGER):
        for seconds in (1, 2, 10.5, 11.1):
            lines.tell(Compiling("run", 120, 181, seconds))
        lines.tell(None)
        lines.tell(Compiling(None, 0, 0, 1))
    told = [f"compiling the simulator, once: run, 120 of 181 functions, {seconds} s" for seconds in (1, 11)]
    assert caplog.messages == [*told, "waiting for another process that compiles the simulator, 1 s"]


LISTENER = """
import logging, sys
import kernbench.engine.jit_status
from kernels_jit.compile import progress
progress._listener(progress.Compiling("run", 1, 2, 1.0))
logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stdout)
progress._listener(None)
progress._listener(progress.Compiling("run", 1, 2, 1.0))
"""


def test_it_is_heard_by_who_asks_and_nobody_else() -> None:
    done = subprocess.run([sys.executable, "-c", LISTENER], capture_output=True, text=True, check=True)
    assert done.stdout == "kernbench: compiling the simulator, once: run, 1 of 2 functions, 1 s\n"
    assert done.stderr == ""
