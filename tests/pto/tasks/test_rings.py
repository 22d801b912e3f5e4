"""The rings: when they are full, and when no longer."""

from __future__ import annotations

from kernbench.pto.tasks.memory import HEAP_BASE
from kernbench.pto.tasks.rings import DepPool, HeapRing, TaskRing


def test_a_task_ring_keeps_one_slot_empty():
    ring = TaskRing(8)
    ring.current = 6
    assert ring.has_room
    ring.current = 7
    assert not ring.has_room
    ring.last_alive = 1
    assert ring.has_room
    assert ring.slot(13) == 5


def test_buffers_are_aligned_and_follow_each_other():
    heap = HeapRing(1024, 64)
    assert [heap.allocate(n) for n in (1, 64, 65)] == [0, 64, 128]
    assert heap.top == 256
    assert heap.address(128) == HEAP_BASE + 128


def test_no_buffer_crosses_the_end_and_it_wraps_only_where_the_tail_has_gone():
    heap = HeapRing(1024, 64)
    assert heap.allocate(960) == 0
    assert heap.allocate(128) is None
    heap.free_to(128)
    assert heap.allocate(128) is None, "a buffer that reached the tail would make full look empty"
    heap.free_to(192)
    assert heap.allocate(128) == 0
    assert heap.allocate(64) is None
    assert heap.used == 1024 - 192 + 128


def test_an_empty_heap_has_room_for_all_wherever_its_last_buffer_ended():
    for nbytes, at in ((512, 512), (448, 512), (576, 0), (1024, 0), (1025, None)):
        heap = HeapRing(1024, 64)
        heap.allocate(512)
        heap.free_to(512)
        assert heap.available == 1024
        assert heap.used == 0
        assert heap.find(nbytes) == at
        assert heap.allocate(nbytes) == at
        assert heap.used == (0 if at is None else nbytes)
        assert heap.find(1024) == (0 if at is None else None)


def test_available_is_the_larger_of_the_free_stretches():
    heap = HeapRing(1024, 64)
    heap.allocate(640)
    heap.free_to(512)
    assert heap.available == 512
    heap.allocate(320)
    assert heap.available == 512
    heap.allocate(256)
    assert heap.available == 256


def test_dependency_entries_go_round_and_are_free_with_their_producers():
    pool = DepPool(3)
    assert [pool.allocate(producer) for producer in (0, 0, 1)] == [1, 2, 3]
    assert not pool.has_room(0)
    assert pool.has_room(1)
    assert pool.allocate(2) == 1
    assert pool.used == 2
