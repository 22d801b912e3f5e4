"""Binary heaps over parallel arrays: pending events by (time, key, index), and landing bounds by time.

Parallel arrays because numba keeps them within registers' reach; the payload is carried along and never compared.
"""

from __future__ import annotations

from kernels_jit._jit import jit
from kernels_jit.state import BOUND_N, HEAP_N


@jit
def push(times, keys, indices, datas, n, time, key, index, data):
    """Insert into a heap of n entries; the caller has made sure of room and counts n + 1 from here on."""
    at = n
    while at > 0:
        up = (at - 1) >> 1
        t = times[up]
        if t < time:
            break
        if t == time:
            k = keys[up]
            if k < key or (k == key and indices[up] < index):
                break
        times[at], keys[at], indices[at], datas[at] = times[up], keys[up], indices[up], datas[up]
        at = up
    times[at], keys[at], indices[at], datas[at] = time, key, index, data


@jit
def drop(times, keys, indices, datas, n):
    """Remove the first of n entries; the caller has read it and counts n - 1 from here on."""
    last = n - 1
    time, key, index, data = times[last], keys[last], indices[last], datas[last]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        right = child + 1
        if right < last:
            a, b = times[right], times[child]
            if a < b or (
                a == b
                and (keys[right] < keys[child] or (keys[right] == keys[child] and indices[right] < indices[child]))
            ):
                child = right
        t = times[child]
        if t > time or (t == time and (keys[child] > key or (keys[child] == key and indices[child] >= index))):
            break
        times[at], keys[at], indices[at], datas[at] = t, keys[child], indices[child], datas[child]
        at = child
    times[at], keys[at], indices[at], datas[at] = time, key, index, data


@jit
def schedule(s, time, key, index, data):
    """Add a pending event."""
    n = s.scalar[HEAP_N]
    push(s.heap_fs, s.heap_key, s.heap_index, s.heap_data, n, time, key, index, data)
    s.scalar[HEAP_N] = n + 1


@jit
def push_bound(s, time, flight):
    """Remember that a flight cannot land before a time."""
    times, flights = s.bound_fs, s.bound_flight
    at = s.scalar[BOUND_N]
    s.scalar[BOUND_N] = at + 1
    while at > 0:
        up = (at - 1) >> 1
        if times[up] <= time:
            break
        times[at], flights[at] = times[up], flights[up]
        at = up
    times[at], flights[at] = time, flight


@jit
def pop_bound(s):
    """The flight with the smallest bound, removed."""
    times, flights = s.bound_fs, s.bound_flight
    first = flights[0]
    last = s.scalar[BOUND_N] - 1
    s.scalar[BOUND_N] = last
    time, flight = times[last], flights[last]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        if child + 1 < last and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[at], flights[at] = times[child], flights[child]
        at = child
    times[at], flights[at] = time, flight
    return first
