"""A run that nobody holds any more gives its memory back at once, without the garbage collector."""

import gc
from collections import Counter
from time import sleep

import pytest

from kernbench.frontends.run import run_bench
from kernbench.machine import load_machine
from kernbench.runs.bench import find_bench
from kernbench.runs.recording import record
from kernbench.runs.run import record_bench

ATTEMPTS = 10  # threads of a test before, such as those of a cluster that has been closed, leave garbage for a while


def find_garbage(make):
    """Kinds of objects that each call leaves in cycles, after one that makes what stays."""
    make()
    found = Counter[str]()
    for attempt in range(ATTEMPTS):
        sleep(attempt * 0.1)
        gc.collect()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            make()
            gc.collect()
            found = Counter(type(each).__qualname__ for each in gc.garbage)
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
        if not found:
            break
    return found


@pytest.mark.parametrize(
    ("bench", "how"),
    [
        ("gemm-single-pe", {"verify": True}),
        ("gemm-single-pe", {"verify": True, "live": True}),
        ("gemm-single-pe", {"mode": "analytic"}),
        ("pe-to-pe", {"verify": True}),
        ("ccl-allreduce", {"verify": True}),
        ("ccl-allreduce", {"live": True}),
        ("ccl-allreduce", {"mode": "analytic"}),
    ],
)
def test_a_run_leaves_nothing_for_the_garbage_collector(bench, how):
    assert find_garbage(lambda: run_bench(bench, "tiny", **how)) == Counter()


def test_a_recording_leaves_nothing_for_the_garbage_collector():
    assert find_garbage(lambda: record_bench("ccl-allreduce", "tiny")) == Counter()


def test_a_recording_for_many_machines_leaves_nothing_for_the_garbage_collector():
    bench, machine = find_bench("gemm-single-pe"), load_machine("tiny")
    assert find_garbage(lambda: record(bench, machine, {}, range(1))) == Counter()
