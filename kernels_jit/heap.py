"""Pending events: a binary heap over four parallel arrays, ordered by (time, key, index).

Parallel arrays because numba keeps them in registers' reach; the payload `data` is carried along and never compared.
"""

from __future__ import annotations

from kernels_jit._jit import jit


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
