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
from kernels_jit._jit import jit
from kernels_jit.state import (
    STATION_BUSY_FS,
    STATION_FLITS,
    STATION_FREE_FS,
)
from kernels_jit.tables import (
    FULL_FS,
    PROPAGATION_FS,
    QUANTUM_BYTES,
    STEP_OVERHEAD_FS,
    STEP_STATION,
    STEP_STRIPES,
    STEP_WHOLE,
)


@jit
def part_fs(nbytes, quantum, full_fs, flit_bytes):
    """Service of a flit: a partial one pays for its bytes, rounded up to the station's quantum; the result rounded up."""
    if nbytes >= flit_bytes:
        return full_fs
    padded = (nbytes + quantum - 1) // quantum * quantum
    return (padded * full_fs + flit_bytes - 1) // flit_bytes


@jit
def service_fs(service, station, nbytes, flit_bytes):
    """Service of a flit of some bytes at a station."""
    return part_fs(nbytes, service[station, QUANTUM_BYTES], service[station, FULL_FS], flit_bytes)


@jit
def occupy(s, station, end, busy, flits, sign):
    """Put down (sign 1) or take back (sign -1) what a passage leaves at a station; 0 leaves no trace."""
    if sign != 0:
        s.station[station, STATION_BUSY_FS] += sign * busy
        s.station[station, STATION_FLITS] += sign * flits
        s.station[station, STATION_FREE_FS] = end if sign > 0 else 0


@jit
def fly(net, s, first, end, flits, last_bytes, flit_bytes, stripe, start, sign):
    """When the last flit of a transfer lands that stands before step `first` at `start` and meets nobody up to `end`.

    Answers NONE where the closed form does not hold: a memory in the middle of a route, a last flit that overtakes others.
    """
    lines, slopes = s.term[0], s.term[1]
    full = flits - 1  # flits before the last
    lines[0], slopes[0], n = start, 0, 1
    stair, tilt, rise, width = codes.NONE, 0, 0, 1
    last = start
    for step in range(first, end):
        station, overhead = net.step[step, STEP_STATION], net.step[step, STEP_OVERHEAD_FS]
        if step > first and net.step[step, STEP_WHOLE] == 1:
            last += overhead
            lines[0], slopes[0], n, stair = last, 0, 1, codes.NONE
        elif step > first and overhead > 0:
            if full == 0:
                last += overhead
            else:
                gate = _first(lines, n, stair) + overhead
                lines[n], slopes[n], n = gate, 0, n + 1
                last = max(last, gate)
        service = net.service[station, FULL_FS]
        final = service_fs(net.service, station, last_bytes, flit_bytes)
        stripes = net.step[step, STEP_STRIPES]
        if stripes > 1:
            if step == first and (flits == 1 or final == service):
                rise, width, tilt, n = service, stripes, 0, 0
                stair = start + service
                last = start + full // stripes * service + final
                _leave_source(s, station, stripes, stripe, flits, start, service, final, sign)
            elif step + 1 == end and stair == codes.NONE:
                last = _land_striped(s, station, stripes, stripe, flits, service, final, n, last, sign)
            else:
                return codes.NONE
        else:
            if full > 0:
                top = _first(lines, n, stair)
                if stair != codes.NONE:
                    tilt = max(tilt, service)
                    stair = stair + service if tilt * width <= rise else codes.NONE
                kept = 0
                for i in range(n):
                    if slopes[i] > service:
                        lines[kept], slopes[kept], kept = lines[i] + service, slopes[i], kept + 1
                lines[kept], slopes[kept], n = top + service, service, kept + 1
                before = _at(lines, slopes, n, stair, tilt, rise, width, full - 1)
                last = max(last, before)
            last += final
            occupy(s, station, last, full * service + final, flits, sign)
        propagation = net.service[station, PROPAGATION_FS]
        if propagation > 0:
            last += propagation
            for i in range(n):
                lines[i] += propagation
            if stair != codes.NONE:
                stair += propagation
    return last


@jit
def _first(lines, n, stair):
    """The first flit's time."""
    top = stair
    for i in range(n):
        top = max(top, lines[i])
    return top


@jit
def _at(lines, slopes, n, stair, tilt, rise, width, i):
    """The time of flit i."""
    top = codes.NONE if stair == codes.NONE else stair + i // width * rise + i % width * tilt
    for k in range(n):
        top = max(top, lines[k] + slopes[k] * i)
    return top


@jit
def _leave_source(s, station, stripes, stripe, flits, start, service, final, sign):
    """All flits stand before a striped memory together: each channel serves its share back to back."""
    for j in range(min(stripes, flits)):
        share = (flits - j + stripes - 1) // stripes
        busy = share * service if (flits - 1) % stripes != j else (share - 1) * service + final
        occupy(s, station + (stripe + j) % stripes, start + busy, busy, share, sign)


@jit
def _land_striped(s, station, stripes, stripe, flits, service, final, n, last, sign):
    """Flits come one by one to a striped memory; answers when the last of its channels is done."""
    landed = codes.NONE
    for j in range(min(stripes, flits)):
        share = (flits - j + stripes - 1) // stripes
        i = j + (share - 1) * stripes
        if i < flits - 1:
            end = _served(s.term[0], s.term[1], n, stripes, service, i)
            busy = share * service
        else:
            end = last
            if share > 1:
                end = max(end, _served(s.term[0], s.term[1], n, stripes, service, i - stripes))
            end += final
            busy = (share - 1) * service + final
        occupy(s, station + (stripe + j) % stripes, end, busy, share, sign)
        landed = max(landed, end)
    return landed


@jit
def _served(lines, slopes, n, stripes, service, i):
    """When a channel has served flit i of lines of arrivals, its channel's flits being i, i - stripes, ..."""
    top = codes.NONE
    turns = i // stripes
    for k in range(n):
        own = lines[k] + slopes[k] * i + service
        backlog = lines[k] + slopes[k] * (i % stripes) + (turns + 1) * service
        top = max(top, own, backlog)
    return top
