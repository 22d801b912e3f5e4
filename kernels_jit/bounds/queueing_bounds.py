"""Lower bounds of the time between rows: longest paths, and queues at the servers and stations of the paths.

A queue is a set of *loads* of one server. Each load arrives no earlier than its head, needs its service time, and is followed
by its tail. The server does one load at a time, so the last tail ends no earlier than if each load were preempted by any
arriving load with a longer tail: Jackson's preemptive schedule, which is optimal (J. Carlier, "The one-machine sequencing
problem", *European Journal of Operational Research* 11, 1982).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels_jit.compile.jit import inner, jit
from kernels_jit.layout.codes import NONE

NEVER = 1 << 60
_LONGEST = 1 << 62  # the end of the clock; later ends are set to it, which keeps bounds valid
_MOST = 1 << 61  # of a head, a service or a tail


class Classes(NamedTuple):
    """Classes of nodes in topological order."""

    start: np.ndarray  # int64[class + 1] into `before`
    before: np.ndarray  # int64[edge]
    gain: np.ndarray  # int64[edge] fs
    work: np.ndarray  # int64[class]
    floor: np.ndarray  # int64[class] fs; -NEVER: none


class Queues(NamedTuple):
    """The queues on the paths to each of some gates."""

    gate_class: np.ndarray  # int64[gate] sorted: the class of each in the graph ahead
    queue_start: np.ndarray  # int64[gate + 1]
    load_start: np.ndarray  # int64[queue + 1]; fastest in the order of arrival
    slots: np.ndarray  # int64[queue]
    ahead: np.ndarray  # int64[load] its class in the graph from the start
    behind: np.ndarray  # int64[load] its class in the reversed graph from the gate
    leg: np.ndarray  # int64[load] column of the legs' times
    full: np.ndarray  # int64[load] number of full flits
    last: np.ndarray  # int64[load] number of flits that end a message


class Ways(NamedTuple):
    """The routes of transfers, and the times of their steps as amounts of atoms."""

    start: np.ndarray  # int64[way + 1] into the steps; a way is a route with sizes
    lead_fs: np.ndarray  # int64[way]
    tail_fs: np.ndarray  # int64[way]
    transfer: np.ndarray  # int64[way] column of the transfers' total times
    full: np.ndarray  # int64[2, step] atom and amount
    last: np.ndarray
    overhead: np.ndarray
    wire_fs: np.ndarray  # int64[step]


class Legs(NamedTuple):
    """Service time of a load, and the times before and after it, int64[point, leg] each: fs.

    There is a leg for each step of each way, then one for each work, for jobs.
    """

    head: np.ndarray  # from the end of the row back to the arrival of the first flit: at most 0
    tail: np.ndarray  # from the end of the service to the end of the row: at least 0
    full: np.ndarray
    last: np.ndarray


@jit
def find_legs(ways: Ways, atoms_fs: np.ndarray, transfers_fs: np.ndarray, work_fs: np.ndarray) -> Legs:
    """The times of all legs. Arguments: Ways, int64[point, atom], int64[point, transfer], int64[point, work]."""
    points, steps = atoms_fs.shape[0], ways.wire_fs.size
    shape = points, steps + work_fs.shape[1]
    legs = Legs(
        np.empty(shape, np.int64), np.zeros(shape, np.int64), np.empty(shape, np.int64), np.zeros(shape, np.int64)
    )
    for point in range(points):
        atoms = atoms_fs[point]
        for way in range(ways.lead_fs.size):
            first, end = ways.start[way], ways.start[way + 1]
            time = ways.lead_fs[way] - transfers_fs[point, ways.transfer[way]]
            for step in range(first, end):
                time += _amount(ways.overhead, step, atoms)
                legs.head[point, step] = time
                time += _amount(ways.last, step, atoms) + ways.wire_fs[step]
                legs.full[point, step] = _amount(ways.full, step, atoms)
                legs.last[point, step] = _amount(ways.last, step, atoms)
            time = ways.tail_fs[way]
            for step in range(end - 1, first - 1, -1):
                time += ways.wire_fs[step]
                legs.tail[point, step] = time
                time += _amount(ways.last, step, atoms)
        for work in range(work_fs.shape[1]):
            legs.head[point, steps + work] = -work_fs[point, work]
            legs.full[point, steps + work] = work_fs[point, work]
    return legs


@inner
def _amount(terms, step, atoms):
    return terms[1, step] * atoms[terms[0, step]]


@jit
def find_spans(ahead: Classes, behind: Classes, queues: Queues, legs: Legs, work_fs: np.ndarray) -> np.ndarray:
    """int64[point, gate] lower bound of the time of each gate.

    `ahead`, `behind`: Classes from the start and back from the gates; `work_fs`: int64[point, work].
    """
    gates = queues.gate_class.size
    found = np.empty((work_fs.shape[0], gates), np.int64)
    end, back = np.empty(ahead.work.size, np.int64), np.empty(behind.work.size, np.int64)
    most = 0
    for queue in range(queues.slots.size):
        most = max(most, queues.load_start[queue + 1] - queues.load_start[queue])
    loads, heaps = np.empty((3, most), np.int64), np.empty((2, most + 1), np.int64)
    bound = np.full(gates, NONE)
    for point in range(work_fs.shape[0]):
        _walk(behind, 0, behind.work.size, work_fs[point], back)
        for one in range(back.size):
            back[one] -= work_fs[point, behind.work[one]]
        done = 0
        for gate in range(gates):
            at = queues.gate_class[gate]
            _walk(ahead, done, at + 1, work_fs[point], end)
            done = at + 1
            first, last = queues.queue_start[gate], queues.queue_start[gate + 1]
            time, longest = end[at], bound[gate]
            for i in range(first - 1, last):  # first the queue that was longest at the point before
                queue = longest if i < first else i
                if queue == NONE or _list_loads(queues, queue, legs, point, end, back, loads) <= time:
                    continue
                wait = _schedule(loads, queues.load_start[queue + 1] - queues.load_start[queue], heaps)
                if wait > time:
                    time, bound[gate] = wait, queue
            found[point, gate] = end[at] = time
    return found


@jit
def find_ends(ahead: Classes, wanted: np.ndarray, work_fs: np.ndarray) -> np.ndarray:
    """int64[point, wanted] ends of some classes without queueing. `work_fs`: int64[point, work]; `wanted`: int64[] classes."""
    found, end = np.empty((work_fs.shape[0], wanted.size), np.int64), np.empty(ahead.work.size, np.int64)
    for point in range(work_fs.shape[0]):
        _walk(ahead, 0, end.size, work_fs[point], end)
        for i in range(wanted.size):
            found[point, i] = end[wanted[i]]
    return found


@inner
def _walk(ways, first, last, work_fs, end):
    """The ends of some classes."""
    for one in range(first, last):
        best = ways.floor[one]
        for edge in range(ways.start[one], ways.start[one + 1]):
            best = max(best, end[ways.before[edge]] + ways.gain[edge])
        end[one] = min(best + work_fs[ways.work[one]], _LONGEST)


@inner
def _list_loads(queues, queue, legs, point, end, back, loads):
    """Write the loads of a queue; returns an upper bound of the time when the last has reached its gate.

    The bound assumes that each load arrives no earlier than those before it in the list: it is close if they are in the order
    of arrival.
    """
    first, count = queues.load_start[queue], queues.load_start[queue + 1] - queues.load_start[queue]
    slots, soon, time, tail = queues.slots[queue], loads[0], loads[1], loads[2]
    now, behind, worst = -NEVER, -NEVER, -NEVER
    for i in range(count):
        load = first + i
        leg = queues.leg[load]
        head = min(end[queues.ahead[load]] + legs.head[point, leg], _MOST)
        full, last = queues.full[load], queues.last[load]
        service = full * legs.full[point, leg] + last * legs.last[point, leg]
        if float(full + last) * float(legs.full[point, leg]) > _MOST:
            service = _MOST
        if slots > 1:
            service //= slots
        after = min(back[queues.behind[load]] + legs.tail[point, leg], _MOST)
        soon[i], time[i], tail[i] = -head, service, after
        if head > now:  # the server was idle: all earlier loads are done
            worst = max(worst, now + behind)
            now, behind = head, -NEVER
        now, behind = min(now + service, _MOST), max(behind, after)
    return max(worst, now + behind)


@inner
def _schedule(loads, count, heaps):
    """The end of Jackson's preemptive schedule of loads that arrive at -`soon`."""
    soon, time, tail, coming, waiting = loads[0], loads[1], loads[2], heaps[0], heaps[1]
    for i in range(count):
        _push(coming, i, soon, i)
    now, best, n = -NEVER, -NEVER, 0
    while count > 0 or n > 0:
        if n == 0:
            now = max(now, -soon[coming[0]])
        while count > 0 and -soon[coming[0]] <= now:
            _push(waiting, n, tail, coming[0])
            n += 1
            count -= 1
            _drop(coming, count, soon)
        one = waiting[0]
        if count > 0 and -soon[coming[0]] < now + time[one]:
            time[one] -= -soon[coming[0]] - now
            now = -soon[coming[0]]
            continue
        now = min(now + time[one], _MOST)
        best = max(best, now + tail[one])
        n -= 1
        _drop(waiting, n, tail)
    return best


@inner
def _push(heap, count, key, one):
    """Push to a heap of `count` entries, the largest key first."""
    at = count
    while at > 0:
        up = (at - 1) >> 1
        if key[heap[up]] >= key[one]:
            break
        heap[at] = heap[up]
        at = up
    heap[at] = one


@inner
def _drop(heap, count, key):
    """Pop the first entry, so that `count` are left."""
    one, at = heap[count], 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and key[heap[child + 1]] > key[heap[child]]:
            child += 1
        if key[one] >= key[heap[child]]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = one
