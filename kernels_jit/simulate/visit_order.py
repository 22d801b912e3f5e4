"""Visit order of a network pass: channel order where the graph of channels has one."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import inner, jit
from kernels_jit.layout.records import NEVER


@inner
def channel_order(count, src, dst, latency_fs, limit_fs):
    """Stations in an order that every edge faster than `limit_fs` follows, by Kahn's algorithm.

    Arguments: number of stations, int64[edge] three times, int. Returns int64[station] stations by rank, and how many
    could be placed: fewer than `count` if those edges form a cycle. A station is followed by what it feeds as soon as may
    be, so that the stations of one route stand close together.
    """
    first = np.zeros(count + 1, np.int64)
    waits = np.zeros(count, np.int64)
    for e in range(src.size):
        if latency_fs[e] < limit_fs:
            first[src[e] + 1] += 1
            waits[dst[e]] += 1
    for station in range(count):
        first[station + 1] += first[station]
    fill = first[:-1].copy()
    onward = np.empty(src.size, np.int64)
    for e in range(src.size):
        if latency_fs[e] < limit_fs:
            onward[fill[src[e]]] = dst[e]
            fill[src[e]] += 1
    order = np.empty(count, np.int64)
    ready = np.empty(count, np.int64)
    placed, top = 0, 0
    for station in range(count - 1, -1, -1):
        if waits[station] == 0:
            ready[top] = station
            top += 1
    while top > 0:
        top -= 1
        station = ready[top]
        order[placed] = station
        placed += 1
        for k in range(first[station], first[station + 1]):
            waits[onward[k]] -= 1
            if waits[onward[k]] == 0:
                ready[top] = onward[k]
                top += 1
    return order, placed


@jit
def visit_order(
    count: int, src: np.ndarray, dst: np.ndarray, latency_fs: np.ndarray, most_fs: int | np.int64
) -> tuple[np.ndarray, int]:
    """Stations in the order of visits, and the window (fs) within which no flit goes against that order.

    Arguments as of `channel_order`, and a latency that is known to be no less than that window. Where all faster edges together
    form a cycle, the slowest are left out: the largest latency is sought such that all faster edges still form none.
    """
    order, placed = channel_order(count, src, dst, latency_fs, most_fs)
    if placed < count:
        low, high = least_above(latency_fs, -1), most_below(latency_fs, most_fs)  # no edge is faster than the least
        while low < high:
            middle = least_above(latency_fs, low + (high - low) // 2)
            if channel_order(count, src, dst, latency_fs, middle)[1] == count:
                low = middle
            else:
                high = most_below(latency_fs, middle)
        order = channel_order(count, src, dst, latency_fs, low)[0]
    rank = np.empty(count, np.int64)
    for place in range(count):
        rank[order[place]] = place
    window_fs = NEVER
    for e in range(src.size):
        if rank[src[e]] >= rank[dst[e]]:
            window_fs = min(window_fs, latency_fs[e])
    return order, window_fs


@inner
def least_above(values, bound):
    """The least of int64[] that is above a bound, or NEVER."""
    best = NEVER
    for value in values:
        if value > bound:
            best = min(best, value)
    return best


@inner
def most_below(values, bound):
    """The largest of int64[] that is below a bound, or 0."""
    best = 0
    for value in values:
        if value < bound:
            best = max(best, value)
    return best


@jit
def look_ahead(
    order: np.ndarray, first: np.ndarray, before: np.ndarray, latency_fs: np.ndarray, sources: np.ndarray, most_fs: int
) -> np.ndarray:
    """How far beyond the horizon of a pass all that will come to a station is known when it is visited.

    Nothing enters the network before the horizon, but only at stations where routes begin; what has not been served
    before it elsewhere comes later by the latency of every edge on its way. An edge against the order takes what it gives.

    Arguments: int64[station] order of visits, int64[station + 1] offsets into the int64[edge] stations before each and the
    latencies from there, bool[station] where routes begin, int64 the most. Returns int64[station].
    """
    ahead = np.zeros(order.size, np.int64)
    visited = np.zeros(order.size, np.bool_)
    for station in order:
        visited[station] = True
        if sources[station] or first[station] == first[station + 1]:
            continue
        best = most_fs
        for edge in range(first[station], first[station + 1]):
            best = min(best, ahead[before[edge]] + latency_fs[edge]) if visited[before[edge]] else 0
        ahead[station] = best
    return ahead
