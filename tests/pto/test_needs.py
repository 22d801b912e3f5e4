"""The size that a run recommends when it stops for lack of room does, and is no larger than the scopes call for."""

from __future__ import annotations

import random
import re

import pytest

from kernbench.pto.api import (
    PTO2_SCOPE,
    PTO2_WORKER_VECTOR,
    make_input_param,
    make_output_param,
    make_tensor,
    pto2_rt_allocate_cluster,
    pto2_rt_free_cluster,
    pto2_rt_get_tensor_data,
    pto2_rt_submit_task,
    pto2_rt_submit_task_clustered,
)
from kernbench.pto.runtime.fatal import FatalError
from tests.pto.graphs import run

FIELDS = {
    "PTO2_RING_HEAP": "heap_bytes",
    "PTO2_RING_DEP_POOL": "dep_pool",
    "PTO2_TENSORMAP_POOL_SIZE": "tensormap_pool",
}
LEAST = {"heap_bytes": 1024, "dep_pool": 16, "tensormap_pool": 2, "task_window": 4}


def submit(rt, reads=(), nbytes=4096):
    """A task that reads tensors; returns the one that it writes."""
    written = make_tensor((nbytes // 4,), 1)
    params = [*map(make_input_param, reads), make_output_param(written)]
    pto2_rt_submit_task(rt, 1, PTO2_WORKER_VECTOR, params, len(params))
    return written


def chain(rt, tasks, nbytes=4096):
    tensor = submit(rt, (), nbytes)
    for _ in range(tasks - 1):
        tensor = submit(rt, (tensor,), nbytes)


def random_scopes(seed):
    """An orchestration function with scopes in scopes, tasks in all of them, and up to three inputs for each."""

    def orchestrate(rt):
        rng = random.Random(seed)

        def scope(depth, known):
            for _ in range(rng.randrange(1, 6)):
                if depth < 3 and rng.random() < 0.4:
                    with PTO2_SCOPE(rt):
                        scope(depth + 1, list(known))
                else:
                    reads = rng.sample(known, min(len(known), rng.randrange(4)))
                    known.append(submit(rt, reads, 1024 * rng.randrange(1, 5)))

        scope(0, [])

    return orchestrate


def recommended(error):
    """The field that a message names, and the size that it recommends."""
    [(size, variable)] = re.findall(r"Recommended: (\d+) \((PTO2_\w+|at least)", str(error))
    return FIELDS.get(variable, "task_window"), int(size)


@pytest.mark.parametrize("nbytes", [4096, 8192, 16384, 32768])
def test_a_chain_of_ten_buffers_asks_for_room_for_all_of_them_at_once(nbytes):
    with pytest.raises(FatalError) as error:
        run(lambda rt: chain(rt, 10), heap_bytes=nbytes)
    assert str(error.value).endswith(
        "Recommended: 65536 (PTO2_RING_HEAP; the open scopes take 40960 bytes) (fatal code 2)"
    )
    run(lambda rt: chain(rt, 10), heap_bytes=65536)


def test_what_scopes_give_back_is_not_asked_for():
    def orchestrate(rt):
        for tasks in (2, 5, 3):
            with PTO2_SCOPE(rt):
                chain(rt, tasks)

    with pytest.raises(FatalError, match="the open scopes take 20480 bytes"):
        run(orchestrate, heap_bytes=8192)


def test_a_task_of_an_outer_scope_holds_all_that_inner_scopes_take():
    def orchestrate(rt):
        submit(rt)
        for _ in range(3):
            with PTO2_SCOPE(rt):
                chain(rt, 2)

    with pytest.raises(FatalError, match="the open scopes take 28672 bytes"):
        run(orchestrate, heap_bytes=8192)


@pytest.mark.parametrize(("tasks", "window"), [(8, 16), (15, 16), (16, 32), (100, 128), (200, 256)])
def test_a_window_is_recommended_that_holds_the_whole_scope(tasks, window):
    with pytest.raises(FatalError) as error:
        run(lambda rt: chain(rt, tasks), task_window=8)
    assert recommended(error.value) == ("task_window", window)
    assert run(lambda rt: chain(rt, tasks), task_window=window).record.blocked == 0


@pytest.mark.parametrize("seed", range(12))
def test_the_sizes_that_are_recommended_do(seed):
    """With the least of one size, and no want of the others."""
    for name, least in LEAST.items():
        try:
            run(random_scopes(seed), **{name: least})
        except FatalError as error:
            field, size = recommended(error)
            assert field == name
            assert size > least
            run(random_scopes(seed), **{name: size})


def test_a_function_that_ends_early_or_looks_at_data_says_what_it_took_by_then():
    def reads(rt):
        chain(rt, 3)
        pto2_rt_get_tensor_data(rt, submit(rt))
        chain(rt, 100)

    def raises(rt):
        chain(rt, 3)
        raise ValueError

    for orchestrate, nbytes in ((raises, 3), (reads, 4)):
        with pytest.raises(FatalError, match=f"the open scopes take {4096 * nbytes} bytes"):
            run(orchestrate, heap_bytes=4096)


def test_a_function_that_never_ends_is_counted_up_to_the_tasks_of_a_graph():
    def orchestrate(rt):
        while True:
            submit(rt, (), 64)

    with pytest.raises(FatalError) as error:
        run(orchestrate, task_window=4, most_static_tasks=1000)
    assert recommended(error.value) == ("task_window", 1024)


def test_clusters_are_given_back_at_the_end_of_scopes_as_they_are_counted():
    def orchestrate(rt):
        chain(rt, 2)
        for _ in range(5):
            with PTO2_SCOPE(rt):
                cluster = pto2_rt_allocate_cluster(rt)
                written = make_output_param(make_tensor((1024,), 1))
                pto2_rt_submit_task_clustered(rt, 1, PTO2_WORKER_VECTOR, [written], 1, cluster)
                pto2_rt_free_cluster(rt, cluster)

    with pytest.raises(FatalError, match="the open scopes take 28672 bytes"):
        run(orchestrate, heap_bytes=4096)
