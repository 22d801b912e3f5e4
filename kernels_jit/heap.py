"""Binary heaps: pending events by (time, key, index), and landing bounds by time.

A row an entry, so that one cache line holds two events; the payload in the last column is never compared.
"""

from __future__ import annotations

from kernels_jit._jit import jit
from kernels_jit.state import BOUND_N, HEAP_N


@jit
def push(heap, n, time, key, index, data):
    """Insert a row into int64[row, 4] with n entries; the caller has made sure of room and counts on from n + 1."""
    at = n
    while at > 0:
        up = (at - 1) >> 1
        t = heap[up, 0]
        if t < time:
            break
        if t == time:
            k = heap[up, 1]
            if k < key or (k == key and heap[up, 2] < index):
                break
        for column in range(4):
            heap[at, column] = heap[up, column]
        at = up
    heap[at, 0], heap[at, 1], heap[at, 2], heap[at, 3] = time, key, index, data


@jit
def drop(heap, n):
    """Remove the first of n rows; the caller has read it and counts on from n - 1."""
    last = n - 1
    time, key, index, data = heap[last, 0], heap[last, 1], heap[last, 2], heap[last, 3]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        right = child + 1
        if right < last and _before(heap, right, heap[child, 0], heap[child, 1], heap[child, 2]):
            child = right
        if not _before(heap, child, time, key, index):
            break
        for column in range(4):
            heap[at, column] = heap[child, column]
        at = child
    heap[at, 0], heap[at, 1], heap[at, 2], heap[at, 3] = time, key, index, data


@jit
def _before(heap, row, time, key, index):
    t = heap[row, 0]
    if t != time:
        return t < time
    k = heap[row, 1]
    return k < key or (k == key and heap[row, 2] < index)


@jit
def schedule(s, time, key, index, data):
    """Add a pending event."""
    n = s.scalar[HEAP_N]
    push(s.heap, n, time, key, index, data)
    s.scalar[HEAP_N] = n + 1


@jit
def push_bound(s, time, flight):
    """Remember that a flight cannot land before a time."""
    bound = s.bound
    at = s.scalar[BOUND_N]
    s.scalar[BOUND_N] = at + 1
    while at > 0:
        up = (at - 1) >> 1
        if bound[up, 0] <= time:
            break
        bound[at, 0], bound[at, 1] = bound[up, 0], bound[up, 1]
        at = up
    bound[at, 0], bound[at, 1] = time, flight


@jit
def pop_bound(s):
    """The flight with the smallest bound, removed."""
    bound = s.bound
    first = bound[0, 1]
    last = s.scalar[BOUND_N] - 1
    s.scalar[BOUND_N] = last
    time, flight = bound[last, 0], bound[last, 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        if child + 1 < last and bound[child + 1, 0] < bound[child, 0]:
            child += 1
        if bound[child, 0] >= time:
            break
        bound[at, 0], bound[at, 1] = bound[child, 0], bound[child, 1]
        at = child
    bound[at, 0], bound[at, 1] = time, flight
    return first
