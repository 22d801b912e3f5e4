"""Binary heaps in the memory of a run: pending events by (time, key, index), and landing bounds by time.

A row an entry, so that one cache line holds two events; the payload in the last column is never compared.
"""

from __future__ import annotations

from kernels_jit._jit import inner
from kernels_jit.state import BOUND_N, BOUNDS, HEAP, HEAP_N, NOW, NOW_KEY


@inner
def schedule(m, time, key, index, data):
    """Add a pending event; the caller has made sure of room."""
    base, n = m[HEAP], m[HEAP_N]
    m[HEAP_N] = n + 1
    while n > 0:
        up = (n - 1) >> 1
        a = base + 4 * up
        if not _before(m, time, key, index, a):
            break
        at = base + 4 * n
        m[at], m[at + 1], m[at + 2], m[at + 3] = m[a], m[a + 1], m[a + 2], m[a + 3]
        n = up
    at = base + 4 * n
    m[at], m[at + 1], m[at + 2], m[at + 3] = time, key, index, data


@inner
def drop_event(m):
    """Remove the first event; the caller has read it."""
    base, last = m[HEAP], m[HEAP_N] - 1
    m[HEAP_N] = last
    end = base + 4 * last
    time, key, index, data = m[end], m[end + 1], m[end + 2], m[end + 3]
    n = 0
    while True:
        child = 2 * n + 1
        if child >= last:
            break
        a = base + 4 * child
        if child + 1 < last and _before(m, m[a + 4], m[a + 5], m[a + 6], a):
            child += 1
            a += 4
        if _before(m, time, key, index, a):
            break
        at = base + 4 * n
        m[at], m[at + 1], m[at + 2], m[at + 3] = m[a], m[a + 1], m[a + 2], m[a + 3]
        n = child
    at = base + 4 * n
    m[at], m[at + 1], m[at + 2], m[at + 3] = time, key, index, data


@inner
def _before(m, time, key, index, at):
    t = m[at]
    if time != t:
        return time < t
    return key < m[at + 1] or (key == m[at + 1] and index < m[at + 2])


@inner
def is_past(m, time, key):
    """Whether an event that was pending when its time came has been done before the one under way."""
    return time < m[NOW] or (time == m[NOW] and key < m[NOW_KEY])


@inner
def is_over(m, time, key):
    """Whether such an event has been done or is under way."""
    return time < m[NOW] or (time == m[NOW] and key <= m[NOW_KEY])


@inner
def push_bound(m, time, flight):
    """Remember that a flight cannot land before a time."""
    base, n = m[BOUNDS], m[BOUND_N]
    m[BOUND_N] = n + 1
    while n > 0:
        up = (n - 1) >> 1
        if m[base + 2 * up] <= time:
            break
        m[base + 2 * n], m[base + 2 * n + 1] = m[base + 2 * up], m[base + 2 * up + 1]
        n = up
    m[base + 2 * n], m[base + 2 * n + 1] = time, flight


@inner
def pop_bound(m):
    """The flight with the smallest bound, removed."""
    base, last = m[BOUNDS], m[BOUND_N] - 1
    m[BOUND_N] = last
    first = m[base + 1]
    time, flight = m[base + 2 * last], m[base + 2 * last + 1]
    n = 0
    while True:
        child = 2 * n + 1
        if child >= last:
            break
        if child + 1 < last and m[base + 2 * child + 2] < m[base + 2 * child]:
            child += 1
        if m[base + 2 * child] >= time:
            break
        m[base + 2 * n], m[base + 2 * n + 1] = m[base + 2 * child], m[base + 2 * child + 1]
        n = child
    m[base + 2 * n], m[base + 2 * n + 1] = time, flight
    return first
