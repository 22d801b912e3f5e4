"""A run that nobody holds any more gives its memory back at once, without the garbage collector."""

import gc

import pytest

from kernbench.machine import load_machine
from kernbench.runs.bench import find_bench
from kernbench.runs.recording import record
from kernbench.runs.run import record_bench, run_bench


def count_garbage(make):
    """Objects that each call leaves in cycles, after one that makes what stays; other threads leave theirs now and then."""
    make()
    found = []
    for _ in range(3):
        gc.collect()
        make()
        found.append(gc.collect())
    return min(found)


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
    assert count_garbage(lambda: run_bench(bench, "tiny", **how)) == 0


def test_a_recording_leaves_nothing_for_the_garbage_collector():
    assert count_garbage(lambda: record_bench("ccl-allreduce", "tiny")) == 0


def test_a_recording_for_many_machines_leaves_nothing_for_the_garbage_collector():
    bench, machine = find_bench("gemm-single-pe"), load_machine("tiny")
    assert count_garbage(lambda: record(bench, machine, {}, range(1))) == 0
