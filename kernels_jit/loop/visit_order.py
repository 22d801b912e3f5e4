"""Visit order of a network pass: channel order where the graph of channels has one."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import inner, jit
from kernels_jit.layout import codes
from kernels_jit.layout.records import NEVER


@inner
def channel_order(src, dst, latency_fs, limit_fs, order, room, onward):
    """Order stations so that every edge faster than `limit_fs` follows the order, by Kahn's algorithm.

    Arguments: int64[edge] three times and int; `order`, which is written, int64[station] stations by rank; to work in,
    int64[4, station + 1] and int64[edge]. Returns how many stations could be placed: not all if those edges form a cycle. A
    station is followed by what it feeds as soon as may be, so that the stations of one route stand close together.
    """
    count = order.size
    first, waits, fill, ready = room[0], room[1], room[2], room[3]
    first[:] = 0
    waits[:] = 0
    for e in range(src.size):
        if latency_fs[e] < limit_fs:
            first[src[e] + 1] += 1
            waits[dst[e]] += 1
    for station in range(count):
        first[station + 1] += first[station]
        fill[station] = first[station]
    for e in range(src.size):
        if latency_fs[e] < limit_fs:
            onward[fill[src[e]]] = dst[e]
            fill[src[e]] += 1
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
    return placed


@jit
def visit_order(
    src: np.ndarray,
    dst: np.ndarray,
    latency_fs: np.ndarray,
    most_fs: int | np.int64,
    order: np.ndarray,
    room: np.ndarray,
    onward: np.ndarray,
) -> int:
    """Write the stations in the order of visits; returns the window (fs) within which no flit goes against that order.

    Arguments as of `channel_order`, with a latency that is known to be no less than that window. Where all faster edges
    together form a cycle, the slowest are left out: the largest latency is sought such that all faster edges still form none.
    """
    count = order.size
    if channel_order(src, dst, latency_fs, most_fs, order, room, onward) < count:
        low, high = least_above(latency_fs, -1), most_below(latency_fs, most_fs)  # no edge is faster than the least
        while low < high:
            middle = least_above(latency_fs, low + (high - low) // 2)
            if channel_order(src, dst, latency_fs, middle, order, room, onward) == count:
                low = middle
            else:
                high = most_below(latency_fs, middle)
        channel_order(src, dst, latency_fs, low, order, room, onward)
    rank = room[0]
    for place in range(count):
        rank[order[place]] = place
    window_fs = NEVER
    for e in range(src.size):
        if rank[src[e]] >= rank[dst[e]]:
            window_fs = min(window_fs, latency_fs[e])
    return window_fs


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
    order: np.ndarray,
    first: np.ndarray,
    before: np.ndarray,
    latency_fs: np.ndarray,
    sources: np.ndarray,
    most_fs: int,
    ahead: np.ndarray,
) -> None:
    """How far beyond the horizon of a pass all that will come to a station is known when it is visited.

    Nothing enters the network before the horizon, but only at stations where routes begin; what has not been served
    before it elsewhere comes later by the latency of every edge on its way. An edge against the order takes what it gives.

    Arguments: int64[station] order of visits, int64[station + 1] offsets into the int64[edge] stations before each and the
    latencies from there, bool[station] where routes begin, int64 the most; int64[station] the result, which is written.
    """
    ahead[:] = codes.NONE  # not visited
    for station in order:
        ahead[station] = 0
        if sources[station] or first[station] == first[station + 1]:
            continue
        best = most_fs
        for edge in range(first[station], first[station + 1]):
            best = min(best, ahead[before[edge]] + latency_fs[edge]) if ahead[before[edge]] != codes.NONE else 0
        ahead[station] = best
