"""Who listens hears each second what is compiled; the time of all is counted once."""

from __future__ import annotations

import os
import threading
import time

import numba
import pytest

from kernels_jit.compile import progress
from kernels_jit.compile.progress import Compiling, compiled_s, compiling, count_below, note_translation, waiting


@numba.njit
def bottom(number):
    return number + 1


@numba.njit
def middle(number):
    return bottom(number) + bottom(number + 1)


@numba.njit
def top(number):
    return middle(number) + bottom(number) + max(number, 2)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Compiling | None]:
    """What a listener hears, ten times as often as others."""
    told: list[Compiling | None] = []
    monkeypatch.setattr(progress, "PULSE_S", 0.1)
    monkeypatch.setattr(progress, "_listener", told.append)
    return told


def wait_for(heard: list[Compiling | None]) -> None:
    while not heard:
        time.sleep(0.01)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_functions_below_an_entry_point_count_once():
    assert [count_below(function) for function in (bottom, middle, top)] == [1, 2, 3]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_a_listener_hears_how_far_it_is_and_that_it_is_over(heard):
    with compiling(top):
        note_translation()
        note_translation()
        with compiling(middle):  # a function that the first one calls
            wait_for(heard)
    *pulses, end = heard
    assert end is None
    assert {(now.name, now.translated, now.functions) for now in pulses} == {("top", 2, 3)}
    assert all(now.seconds >= 0.1 for now in pulses)


def test_what_is_quick_is_not_heard(heard):
    with compiling(top):
        pass
    assert heard == []


def test_a_process_that_waits_for_another_says_so_now_and_then(heard):
    with waiting() as tell:
        tell()
        assert heard == []
        time.sleep(0.1)
        tell()
        tell()
    (pulse, end) = heard
    assert end is None
    assert pulse is not None
    assert pulse.name is None
    assert pulse.seconds >= 0.1


def test_threads_that_compile_at_once_count_once():
    together = threading.Barrier(3)

    def work() -> None:
        with compiling(top):
            together.wait()
            time.sleep(0.2)

    before, begun = compiled_s(), time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0.2 <= compiled_s() - before <= time.perf_counter() - begun
