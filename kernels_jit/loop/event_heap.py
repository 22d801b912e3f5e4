"""Binary heaps in the memory of a run: pending events by (time, key, index), and landing bounds by time.

An entry is a row, so that one cache line holds two events; the data of an event are never compared.
"""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inner
from kernels_jit.layout.access import BOUND_WORDS, EVENT_WORDS, bound_at, event_at, state_at
from kernels_jit.layout.records import NEVER


@inner
def schedule(m, fs, key, index, data):
    """Add a pending event. The caller has made sure of room."""
    state = state_at(m, 0)
    n = state.heap_n
    if CHECKED:
        assert n < state.heap_size, "an event is scheduled although the heap is full"
        assert fs >= 0, "the time of an event does not fit into a word"
    state.heap_n = n + 1
    while n > 0:
        up = (n - 1) >> 1
        parent = event_at(m, state.heap + EVENT_WORDS * up)
        if not _before(fs, key, index, parent):
            break
        _move_event(parent, event_at(m, state.heap + EVENT_WORDS * n))
        n = up
    _set_event(event_at(m, state.heap + EVENT_WORDS * n), fs, key, index, data)


@inner
def drop_event(m):
    """Remove the first event. The caller has read it."""
    state = state_at(m, 0)
    last = state.heap_n - 1
    state.heap_n = last
    end = event_at(m, state.heap + EVENT_WORDS * last)
    n = 0
    while True:
        child = 2 * n + 1
        if child >= last:
            break
        least = event_at(m, state.heap + EVENT_WORDS * child)
        if child + 1 < last:
            other = event_at(m, state.heap + EVENT_WORDS * (child + 1))
            if _before(other.fs, other.key, other.index, least):
                child += 1
                least = other
        if _before(end.fs, end.key, end.index, least):
            break
        _move_event(least, event_at(m, state.heap + EVENT_WORDS * n))
        n = child
    _move_event(end, event_at(m, state.heap + EVENT_WORDS * n))


@inner
def _before(fs, key, index, event):
    if fs != event.fs:
        return fs < event.fs
    return key < event.key or (key == event.key and index < event.index)


@inner
def _move_event(event, to):
    _set_event(to, event.fs, event.key, event.index, event.what)


@inner
def _set_event(event, fs, key, index, data):
    event.fs, event.key, event.index, event.what = fs, key, index, data


@inner
def is_past(m, fs, key):
    """Whether an event that was pending when its time came has been done before the one under way."""
    state = state_at(m, 0)
    return fs < state.now_fs or (fs == state.now_fs and key < state.now_key)


@inner
def is_over(m, fs, key):
    """Whether such an event has been done or is under way."""
    state = state_at(m, 0)
    return fs < state.now_fs or (fs == state.now_fs and key <= state.now_key)


@inner
def push_bound(m, fs, transfer):
    """Remember that a transfer does not land before a time, or within the clock."""
    state, fs = state_at(m, 0), min(fs, NEVER)
    n = state.bound_n
    if CHECKED:
        assert fs >= 0, "a bound does not fit into a word"
    state.bound_n = n + 1
    while n > 0:
        up = (n - 1) >> 1
        parent = bound_at(m, state.bounds + BOUND_WORDS * up)
        if parent.fs <= fs:
            break
        _set_bound(bound_at(m, state.bounds + BOUND_WORDS * n), parent.fs, parent.transfer)
        n = up
    _set_bound(bound_at(m, state.bounds + BOUND_WORDS * n), fs, transfer)


@inner
def pop_bound(m):
    """Remove the transfer with the smallest bound and return its place."""
    state = state_at(m, 0)
    last = state.bound_n - 1
    state.bound_n = last
    first = bound_at(m, state.bounds).transfer
    end = bound_at(m, state.bounds + BOUND_WORDS * last)
    n = 0
    while True:
        child = 2 * n + 1
        if child >= last:
            break
        least = bound_at(m, state.bounds + BOUND_WORDS * child)
        if child + 1 < last:
            other = bound_at(m, state.bounds + BOUND_WORDS * (child + 1))
            if other.fs < least.fs:
                child += 1
                least = other
        if least.fs >= end.fs:
            break
        _set_bound(bound_at(m, state.bounds + BOUND_WORDS * n), least.fs, least.transfer)
        n = child
    _set_bound(bound_at(m, state.bounds + BOUND_WORDS * n), end.fs, end.transfer)
    return first


@inner
def _set_bound(bound, fs, transfer):
    bound.fs, bound.transfer = fs, transfer
