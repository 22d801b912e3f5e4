"""The ready queues: shards, and who takes from which."""

from __future__ import annotations

import pytest

from kernbench.pto.runtime.ready_queues import ReadyQueues
from kernbench.pto.tasks.task import Shape, Task
from tests.pto.graphs import KERNELS

LOCK = 10


def task(number, shape=Shape.AIV, cluster=-1):
    return Task(number, KERNELS[1], shape, (), cluster=cluster)


@pytest.fixture
def queues():
    return ReadyQueues(3, LOCK)


def test_a_thread_pushes_to_the_shard_of_its_number(queues):
    for thread in (0, 1, 4):
        queues.push(task(thread), thread, 0)
    assert queues.pop(Shape.AIV, 1, 100).task.id == 1
    assert queues.pop(Shape.AIV, 1, 100).task.id == 4, "4 % 3 is 1"


def test_a_thread_takes_from_its_own_shard_and_then_from_the_others(queues):
    for thread in (0, 1, 2):
        queues.push(task(thread), thread, 0)
    found = [queues.pop(Shape.AIV, 2, 100) for _ in range(3)]
    assert [(each.task.id, each.steals) for each in found] == [(2, 0), (0, 1), (1, 2)]
    assert queues.steals == 2
    assert queues.pop(Shape.AIV, 2, 100) is None


def test_shapes_have_queues_of_their_own_and_pinned_tasks_those_of_their_cluster(queues):
    queues.push(task(0, Shape.AIC), 0, 0)
    queues.push(task(1, cluster=5), 0, 0)
    assert queues.pop(Shape.AIV, 0, 100) is None
    assert queues.pop_pinned(4, Shape.AIV, 100) is None
    assert queues.pop_pinned(5, Shape.AIV, 100).task.id == 1
    assert queues.count == 1


def test_a_task_is_seen_when_the_lock_of_its_shard_is_given_back(queues):
    assert queues.push(task(0), 0, 0) == LOCK
    assert queues.push(task(1), 0, 5) == 2 * LOCK
    assert queues.pop(Shape.AIV, 0, LOCK - 1) is None
    popped = queues.pop(Shape.AIV, 0, LOCK)
    assert (popped.task.id, popped.free_fs) == (0, 3 * LOCK)


def test_a_thread_that_works_ahead_leaves_its_lock_free_in_between(queues):
    for at in range(4):  # a scan that puts a task into the queue each 100 fs
        queues.push(task(at), 0, 100 * at)
    assert queues.push(task(9), 0, 20) == 20 + LOCK, "between the first two"
    assert queues.push(task(9), 0, 95) == 100 + LOCK + LOCK, "no room before the second"
    assert queues.push(task(9), 0, 500) == 500 + LOCK
