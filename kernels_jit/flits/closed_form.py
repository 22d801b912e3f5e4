"""An uncontended transfer in closed form: time proportional to its stations, not to its flits.

The arrivals of flits 0, 1, 2, ... at a station are the maximum of a few straight lines `a + b * i`: first come first
served with a fixed service time s maps a line to two, `a + s + b * i` and `a0 + s + s * i` (a0: the first arrival), and
the second dominates every line that is not steeper than s. A node overhead adds a line of slope 0. A striped memory turns
flits that stand there together into a staircase of P flits a step, which a link then tilts; it stays a staircase as long
as a step's flits pass within a step's time. The last flit may be smaller than the others and is carried by itself.
(Max-plus algebra; see Baccelli, Cohen, Olsder, Quadrat: Synchronization and Linearity.)
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import CHECKED, inner, jit
from kernels_jit.compile.pointers import offset
from kernels_jit.layout import codes
from kernels_jit.layout.access import STATION_WORDS, state_at, station_at, step_at
from kernels_jit.layout.records import NEVER
from kernels_jit.loop.clock import after

_NONE = codes.NONE
ADD, KEEP, REMOVE = np.int64(1), np.int64(0), np.int64(-1)
"""What becomes of the stations: the occupancy of a transfer is added, they stay as they are, or it is removed.

They are numpy's because numba compiles a function once for each literal it is called with.
"""


@jit
def part_fs(nbytes, quantum, full_fs, flit_bytes):
    """Service of a flit: a partial one pays for its bytes, rounded up to the station's quantum; the result rounded up.

    The bytes times `full_fs` need not fit into a word, so what a byte takes is divided first.
    """
    padded = (nbytes + quantum - 1) // quantum * quantum
    if padded >= flit_bytes:
        return full_fs
    whole = full_fs // flit_bytes
    service = padded * whole + (padded * (full_fs - whole * flit_bytes) + flit_bytes - 1) // flit_bytes
    if CHECKED:
        assert 0 <= service <= full_fs, "a part of a flit is served longer than a full one"
    return service


@inner
def service_fs(m, station, nbytes):
    """Service of a flit of some bytes at a station."""
    return part_fs(nbytes, station.quantum, station.full_fs, state_at(m, 0).flit_bytes)


@inner
def occupy(station, busy_fs, flits, sign):
    """Add or remove what a transfer leaves at a station; `sign` is ADD, KEEP or REMOVE.

    When the station is free again is not noted: before the transfer lands, which is when somebody else may come.
    """
    if sign != KEEP:
        station.busy_fs += sign * busy_fs
        station.flits += sign * flits


@inner
def has_closed_form(m, first, flits, last_bytes):
    """Whether the closed form holds from a step on: no last flit overtakes others behind a striped memory."""
    step = step_at(m, first)
    station = station_at(m, step.station)
    return step.stripes == 1 or flits == 1 or service_fs(m, station, last_bytes) == station.full_fs


@inner
def uncontended_end(m, first, end, flits, last_bytes, stripe, start, sign):
    """When the last flit of an uncontended transfer lands, from before step `first` at `start`; `end` is after its last.

    What lands after the end of the clock lands at NEVER. `sign` is that of `occupy`. The closed form holds (`has_closed_form`).
    """
    opener_bytes = state_at(m, 0).flit_bytes if flits > 1 else last_bytes
    return end_behind(m, first, end, flits, last_bytes, opener_bytes, stripe, start, sign)


@inner
def landing_bound(m, first, end, flits, last_bytes, stripe, start):
    """A time before which a transfer from before step `first` at `start` does not land, however contended.

    Proof in docs/engine.md, "Landing bounds". Flits that cannot change places land no sooner than uncontended ones. Those
    that stand before a striped memory together can, if the last is short: then the bound is that of the full flits by
    themselves, behind gates that the short one opens.
    """
    if flits == 1 or last_bytes == state_at(m, 0).flit_bytes or step_at(m, first).stripes == 1:
        return uncontended_end(m, first, end, flits, last_bytes, stripe, start, KEEP)
    return end_behind(m, first, end, flits - 1, state_at(m, 0).flit_bytes, last_bytes, stripe, start, KEEP)


@inner
def end_behind(m, first, end, flits, last_bytes, opener_bytes, stripe, start, sign):
    """As `uncontended_end`, where a flit of `opener_bytes`, ahead by itself, opens the gates of nodes with an overhead."""
    lines = offset(m, state_at(m, 0).terms)
    slopes = offset(lines, state_at(m, 0).max_steps)
    full = flits - 1  # flits before the last
    lines[0], slopes[0], n = start, 0, 1
    stair, tilt, rise, width = _NONE, 0, 0, 1
    last, opener = start, start
    for number in range(first, end):
        step = step_at(m, number)
        station = station_at(m, step.station)
        if number > first and step.store_and_forward == 1:
            last += step.overhead_fs
            opener = last
            lines[0], slopes[0], n, stair = last, 0, 1, _NONE
        elif number > first and step.overhead_fs > 0:
            opener += step.overhead_fs
            lines[n], slopes[n], n = opener, 0, n + (full > 0)
            last = max(last, opener)
        service = station.full_fs
        final = service_fs(m, station, last_bytes)
        top = _first(lines, n, stair)
        if after(top, full // step.stripes, service) >= NEVER:
            return NEVER
        if step.stripes > 1:
            if number == first:
                stair, rise, width = start + service, service, step.stripes
                last = start + full // step.stripes * service + final
                _leave_source(m, step, stripe, flits, service, final, sign)
            else:
                last = _land_striped(m, step, stripe, flits, service, final, n, last, sign)
        else:
            if full > 0:
                if stair != _NONE:
                    tilt = max(tilt, service)
                    stair = stair + service if tilt * width <= rise else _NONE
                kept = 0  # the steepest come first
                while kept < n and slopes[kept] > service:
                    lines[kept] += service
                    kept += 1
                lines[kept], slopes[kept], n = top + service, service, kept + 1
                before = _at(lines, slopes, n, stair, tilt, rise, width, full - 1)
                last = max(last, before)
            last += final
            occupy(station, full * service + final, flits, sign)
        opener += service_fs(m, station, opener_bytes) + station.propagation_fs
        last += station.propagation_fs
        if last >= NEVER:
            return NEVER
        for i in range(n):
            lines[i] += station.propagation_fs
        if stair != _NONE:
            stair += station.propagation_fs
    return last


@inner
def _first(lines, n, stair):
    """The first flit's time."""
    top = stair
    for i in range(n):
        top = max(top, lines[i])
    return top


@inner
def _at(lines, slopes, n, stair, tilt, rise, width, i):
    """The time of flit i."""
    top = _NONE if stair == _NONE else stair + i // width * rise + i % width * tilt
    for k in range(n):
        top = max(top, lines[k] + slopes[k] * i)
    return top


@inner
def _channel(m, step, stripe, j):
    """The station of stripe `stripe + j` of a striped step."""
    return station_at(m, step.station + (stripe + j) % step.stripes * STATION_WORDS)


@inner
def _leave_source(m, step, stripe, flits, service, final, sign):
    """Serve flits that come to a striped memory together: one of any size, or more that take as long as full ones."""
    if sign == KEEP:
        return
    stripes = step.stripes
    share, more = flits // stripes, flits % stripes  # flits of every channel; so many channels have one more
    for j in range(min(stripes, flits)):
        count = share + (j < more)
        occupy(_channel(m, step, stripe, j), (count - 1) * service + final, count, sign)


@inner
def _land_striped(m, step, stripe, flits, service, final, n, last, sign):
    """Flits come one by one to a striped memory. Returns when the last of its channels is done."""
    landed, stripes = _NONE, step.stripes
    share, more = flits // stripes, flits % stripes
    for j in range(min(stripes, flits)):
        count = share + (j < more)
        i = j + (count - 1) * stripes
        busy = count * service
        if i < flits - 1:
            end = _served(m, n, count, service, j, i)
        else:
            end = last
            if count > 1:
                end = max(end, _served(m, n, count - 1, service, j, i - stripes))
            end += final
            busy += final - service
        occupy(_channel(m, step, stripe, j), busy, count, sign)
        landed = max(landed, end)
    return landed


@inner
def _served(m, n, count, service, first, i):
    """When a channel has served flit i of lines of arrivals, the last of `count` that begin with `first`."""
    lines = offset(m, state_at(m, 0).terms)
    slopes = offset(lines, state_at(m, 0).max_steps)
    top = _NONE
    for k in range(n):
        own = lines[k] + slopes[k] * i + service
        backlog = lines[k] + slopes[k] * first + count * service
        top = max(top, own, backlog)
    return top
