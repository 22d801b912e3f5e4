"""A transfer that meets nobody, in closed form: time proportional to its stations, not to its flits.

The arrivals of flits 0, 1, 2, ... at a station are the maximum of a few straight lines `a + b * i`: first come first
served with a fixed service time s maps a line to two, `a + s + b * i` and `a0 + s + s * i` (a0: the first arrival), and
the second swallows every line that is not steeper than s. A node overhead adds a line of slope 0. A striped memory turns
flits that stand there together into a staircase of P flits a step, which a link then tilts; it stays a staircase as long
as a step's flits pass within a step's time. The last flit may be smaller than the others and is carried by itself.
(Max-plus algebra; see Baccelli, Cohen, Olsder, Quadrat: Synchronization and Linearity.)
"""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.state import (
    FLIT_BYTES,
    MAX_STEPS,
    STATION_BUSY_FS,
    STATION_COLUMNS,
    STATION_FLITS,
    STATION_FREE_FS,
    STATION_FULL_FS,
    STATION_PROPAGATION_FS,
    STATION_QUANTUM,
    STEP_COLUMNS,
    STEP_OVERHEAD_FS,
    STEP_STATION,
    STEP_STRIPES,
    STEP_WHOLE,
    STEPS,
    TERMS,
)


@inner
def part_fs(nbytes, quantum, full_fs, flit_bytes):
    """Service of a flit: a partial one pays for its bytes, rounded up to the station's quantum; the result rounded up."""
    if nbytes >= flit_bytes:
        return full_fs
    padded = (nbytes + quantum - 1) // quantum * quantum
    return (padded * full_fs + flit_bytes - 1) // flit_bytes


@inner
def service_fs(m, station, nbytes):
    """Service of a flit of some bytes at a station."""
    return part_fs(nbytes, m[station + STATION_QUANTUM], m[station + STATION_FULL_FS], m[FLIT_BYTES])


@inner
def occupy(m, station, end, busy, flits, sign):
    """Put down (sign 1) or take back (sign -1) what a passage leaves at a station; 0 leaves no trace."""
    if sign != 0:
        m[station + STATION_BUSY_FS] += sign * busy
        m[station + STATION_FLITS] += sign * flits
        m[station + STATION_FREE_FS] = end if sign > 0 else 0


@inner
def has_form(m, first, end, flits, last_bytes):
    """Whether the closed form holds: no memory in the middle of the route, no last flit that overtakes others."""
    at = m[STEPS] + first * STEP_COLUMNS
    if m[at + STEP_STRIPES] > 1 and flits > 1:
        station = m[at + STEP_STATION]
        if service_fs(m, station, last_bytes) != m[station + STATION_FULL_FS]:
            return False
    striped = m[at + STEP_STRIPES] > 1
    for step in range(first + 1, end):
        at += STEP_COLUMNS
        if m[at + STEP_STRIPES] > 1 and (striped or step + 1 < end):
            return False
    return True


@inner
def fly(m, first, end, flits, last_bytes, stripe, start, sign):
    """When the last flit of a transfer lands that stands before step `first` at `start` and meets nobody up to `end`.

    `sign` is that of `occupy`. Where the closed form does not hold (see `has_form`), answers NONE.
    """
    opener_bytes = m[FLIT_BYTES] if flits > 1 else last_bytes
    return fly_behind(m, first, end, flits, last_bytes, opener_bytes, stripe, start, sign)


@inner
def landing_bound(m, first, end, flits, last_bytes, stripe, start):
    """A time before which a transfer does not land that stands before step `first` at `start`, whomever it meets.

    That is when it lands alone, unless its flits may change places: those that stand before a striped memory together are served
    by its channels side by side, and if one channel is busy a short last flit goes on before others. Then the full flits
    by themselves are a bound, behind gates that the short one has opened, and so is the short one by itself.
    """
    if flits == 1 or last_bytes == m[FLIT_BYTES] or m[m[STEPS] + first * STEP_COLUMNS + STEP_STRIPES] == 1:
        return fly(m, first, end, flits, last_bytes, stripe, start, 0)
    full = fly_behind(m, first, end, flits - 1, m[FLIT_BYTES], last_bytes, stripe, start, 0)
    return max(full, fly(m, first, end, 1, last_bytes, stripe, start, 0))


@inner
def fly_behind(m, first, end, flits, last_bytes, opener_bytes, stripe, start, sign):
    """When a transfer lands as in `fly`, where a flit of `opener_bytes` by itself opens the gates of nodes with an overhead."""
    lines = m[TERMS]
    slopes = lines + m[MAX_STEPS]
    full = flits - 1  # flits before the last
    m[lines], m[slopes], n = start, 0, 1
    stair, tilt, rise, width = codes.NONE, 0, 0, 1
    last, opener = start, start
    for step in range(first, end):
        at = m[STEPS] + step * STEP_COLUMNS
        station, overhead = m[at + STEP_STATION], m[at + STEP_OVERHEAD_FS]
        if step > first and m[at + STEP_WHOLE] == 1:
            last += overhead
            opener = last
            m[lines], m[slopes], n, stair = last, 0, 1, codes.NONE
        elif step > first and overhead > 0:
            opener += overhead
            if full > 0:
                m[lines + n], m[slopes + n], n = opener, 0, n + 1
            last = max(last, opener)
        service = m[station + STATION_FULL_FS]
        final = service_fs(m, station, last_bytes)
        stripes = m[at + STEP_STRIPES]
        if stripes > 1:
            if step == first and (flits == 1 or final == service):
                rise, width, tilt, n = service, stripes, 0, 0
                stair = start + service
                last = start + full // stripes * service + final
                _leave_source(m, station, stripes, stripe, flits, start, service, final, sign)
            elif step + 1 == end and stair == codes.NONE:
                last = _land_striped(m, station, stripes, stripe, flits, service, final, n, last, sign)
            else:
                return codes.NONE
        else:
            if full > 0:
                top = _first(m, lines, n, stair)
                if stair != codes.NONE:
                    tilt = max(tilt, service)
                    stair = stair + service if tilt * width <= rise else codes.NONE
                kept = 0
                for i in range(n):
                    if m[slopes + i] > service:
                        m[lines + kept], m[slopes + kept] = m[lines + i] + service, m[slopes + i]
                        kept += 1
                m[lines + kept], m[slopes + kept], n = top + service, service, kept + 1
                before = _at(m, lines, slopes, n, stair, tilt, rise, width, full - 1)
                last = max(last, before)
            last += final
            occupy(m, station, last, full * service + final, flits, sign)
        propagation = m[station + STATION_PROPAGATION_FS]
        opener += service_fs(m, station, opener_bytes) + propagation
        if propagation > 0:
            last += propagation
            for i in range(n):
                m[lines + i] += propagation
            if stair != codes.NONE:
                stair += propagation
    return last


@inner
def _first(m, lines, n, stair):
    """The first flit's time."""
    top = stair
    for i in range(n):
        top = max(top, m[lines + i])
    return top


@inner
def _at(m, lines, slopes, n, stair, tilt, rise, width, i):
    """The time of flit i."""
    top = codes.NONE if stair == codes.NONE else stair + i // width * rise + i % width * tilt
    for k in range(n):
        top = max(top, m[lines + k] + m[slopes + k] * i)
    return top


@inner
def _leave_source(m, station, stripes, stripe, flits, start, service, final, sign):
    """All flits stand before a striped memory together: each channel serves its share back to back."""
    if sign == 0:
        return
    share, more = flits // stripes, flits % stripes  # flits of every channel; so many channels have one more
    for j in range(min(stripes, flits)):
        count = share + (j < more)
        busy = count * service
        if j == (more - 1 if more > 0 else stripes - 1):
            busy += final - service
        occupy(m, station + (stripe + j) % stripes * STATION_COLUMNS, start + busy, busy, count, sign)


@inner
def _land_striped(m, station, stripes, stripe, flits, service, final, n, last, sign):
    """Flits come one by one to a striped memory; answers when the last of its channels is done."""
    landed = codes.NONE
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
        occupy(m, station + (stripe + j) % stripes * STATION_COLUMNS, end, busy, count, sign)
        landed = max(landed, end)
    return landed


@inner
def _served(m, n, count, service, first, i):
    """When a channel has served flit i of lines of arrivals, the last of `count` of which `first` is the first."""
    lines = m[TERMS]
    slopes = lines + m[MAX_STEPS]
    top = codes.NONE
    for k in range(n):
        own = m[lines + k] + m[slopes + k] * i + service
        backlog = m[lines + k] + m[slopes + k] * first + count * service
        top = max(top, own, backlog)
    return top
