"""The map of tensors: look-ups, and the three ways in which it is cleaned."""

from __future__ import annotations

import pytest

from kernbench.machine import load_machine
from kernbench.pto.settings import RuntimeSettings
from kernbench.pto.tasks.tensor_map import TensorMap
from kernbench.pto.tasks.tensors import Overlap, make_tensor_external


def make_map(**fields):
    machine = load_machine("ascend_tiny", {f"pto_runtime.{name}": value for name, value in fields.items()})
    return TensorMap(RuntimeSettings.of(machine))


@pytest.fixture
def tensor():
    return make_tensor_external(1 << 20, (64,), 1)


def find(found, tensor):
    return [(entry.producer, overlap) for entry, overlap in found.lookup(tensor)]


def test_the_latest_producers_come_first(tensor):
    tensors = make_map()
    for producer in range(3):
        tensors.insert(tensor.view((16,), (16 * producer,)), producer)
    assert find(tensors, tensor) == [(2, Overlap.COVERED), (1, Overlap.COVERED), (0, Overlap.COVERED)]
    assert find(tensors, tensor.view((20,), (12,))) == [(1, Overlap.COVERED), (0, Overlap.OTHER)]


def test_buffers_of_one_bucket_do_not_meet(tensor):
    tensors = make_map(tensormap_buckets=1)
    tensors.insert(make_tensor_external(1 << 21, (64,), 1), 0)
    tensors.insert(tensor, 1)
    assert find(tensors, tensor) == [(1, Overlap.COVERED)]
    assert tensors.visited == 2


@pytest.mark.parametrize("apart", [1 << 10, 1 << 12, 1 << 20, 1 << 22, 1 << 24, 1 << 30])
def test_buffers_that_are_a_power_of_two_apart_have_buckets_of_their_own(apart):
    """Of 4 MiB buffers, such as tiles of weights, one look-up would else pass all the others."""
    tensors, buffers = make_map(), [make_tensor_external((1 << 32) + at * apart, (64,), 1) for at in range(64)]
    for producer, tensor in enumerate(buffers):
        tensors.insert(tensor, producer)
    assert [find(tensors, tensor) for tensor in buffers] == [[(at, Overlap.COVERED)] for at in range(64)]
    assert tensors.visited == 64


def test_views_of_a_buffer_share_its_bucket(tensor):
    tensors = make_map()
    tensors.insert(tensor.view((16,), (48,)), 0)
    assert find(tensors, tensor) == [(0, Overlap.COVERED)]


def test_a_look_up_cuts_the_stale_end_off_and_visits_it_no_more(tensor):
    tensors = make_map()
    for producer in range(10):
        tensors.insert(tensor, producer)
    tensors.last_alive = 7
    assert [producer for producer, _ in find(tensors, tensor)] == [9, 8, 7]
    visited = tensors.visited
    find(tensors, tensor)
    assert tensors.visited - visited == 3
    assert tensors.used == 10, "the entries are freed with their tasks"


def test_entries_are_freed_every_64_tasks(tensor):
    tensors = make_map()
    for producer in range(100):
        tensors.insert(tensor, producer)
    assert tensors.sync(64) == 0
    assert tensors.sync(65) == 65
    assert tensors.used == 35
    assert tensors.sync(80) == 0
    assert tensors.sync(80, force=True) == 15


def test_a_pool_is_full_until_tasks_are_retired(tensor):
    tensors = make_map(tensormap_pool=2)
    tensors.insert(tensor, 0)
    tensors.insert(tensor, 1)
    assert tensors.is_full
    tensors.sync(1, force=True)
    assert not tensors.is_full
    tensors.insert(tensor, 2)
    assert tensors.is_full
    assert [producer for producer, _ in find(tensors, tensor)] == [2, 1]


def test_an_entry_that_was_taken_out_is_freed_with_its_task(tensor):
    tensors = make_map()
    tensors.insert(tensor, 0)
    tensors.remove(next(iter(tensors.lookup(tensor)))[0])
    assert find(tensors, tensor) == []
    assert tensors.used == 1
    assert tensors.sync(1, force=True) == 1
