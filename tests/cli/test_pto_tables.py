"""Tables of runs of task graphs: the answer of a grid."""

from __future__ import annotations

from kernbench.cli.pto_tables import tell_shortest

WINDOW, THREADS = "topology.pto_runtime.task_window", "topology.pto_runtime.aicpu_threads"


def row(batch, threads, window, span_us):
    return {"batch": batch, THREADS: threads, WINDOW: window, "span_us": span_us}


def test_a_grid_is_answered_for_each_workload_with_all_that_is_as_good() -> None:
    rows = [row(batch, 4, window, 1000.0 / min(window, 64)) for batch in (1, 2) for window in (16, 64, 65536)]
    rows[0]["span_us"] = None
    assert tell_shortest(rows, ["batch", THREADS, WINDOW]) == [
        "shortest span of batch 1: 15.625 µs with pto_runtime.task_window 64 or 65,536; the runtime stopped 1 point",
        "shortest span of batch 2: 15.625 µs with pto_runtime.task_window 64 or 65,536",
    ]


def test_values_that_are_not_good_together_are_not_listed_together() -> None:
    rows = [row(1, threads, window, float(threads != window)) for threads in (2, 4) for window in (2, 4)]
    told = tell_shortest(rows, ["batch", THREADS, WINDOW])
    assert told == [
        "shortest span: 0.000 µs with pto_runtime.aicpu_threads 2, pto_runtime.task_window 2 (1 more have the same)"
    ]


def test_a_grid_of_workloads_alone_and_one_that_never_ends_have_a_line() -> None:
    rows = [row(batch, 4, 16, 10.0 * batch) for batch in (1, 2)]
    assert tell_shortest(rows, ["batch", WINDOW]) == ["shortest span: 10.000 µs with batch 1"]
    stopped = [row(1, 4, window, None) for window in (4, 8)]
    assert tell_shortest(stopped, [WINDOW]) == ["shortest span: none, the runtime stopped every point"]
