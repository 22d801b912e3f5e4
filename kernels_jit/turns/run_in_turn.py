"""Kernels that meet in pipes and semaphores, run in turn by what they do there.

Each goes on until it has to wait; those that move data come before those that compute. It is the order of
`kernbench.tanto.cores.scheduler`, whose pipes and semaphores have the same rules, without the kernels: their acts are known.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import inner, jit
from kernels_jit.turns import acts as a

_MOST_WAITERS = 3  # the kernels of a core
_NONE = -1
_VALUES = (1 << 32) - 1  # of a semaphore
_ENDED, _WAITS, _WRONG = 0, 1, 2


def run_in_turn(kernels: np.ndarray, acts: np.ndarray, objects: np.ndarray, parts: np.ndarray, met: np.ndarray) -> bool:
    """Run all kernels to their ends. Returns whether they come there, and each count is the one that its row waits for.

    Arguments: int64[kernel, 5]; int64[act, 4]; int64[] the parts that kernels know as their objects 0, 1, …; int64[part, 3]
    tiles of a pipe or first value of a semaphore, then zeros; int64[] to be filled: of each act that meets a value, the number
    of the change since which the semaphore has had it.
    """
    count = kernels.shape[0]
    cursor = kernels[:, a.FIRST].copy()
    woken = np.full(count, _NONE, np.int64)  # by kernel: the change that it waited for
    # Who waits for a part and for which value, and how many; rings of kernels that move data and that compute, where they begin
    # and how many are in them.
    waiting = np.empty((parts.shape[0], _MOST_WAITERS, 2), np.int64), np.zeros(parts.shape[0], np.int64)
    queues = np.empty((2, count), np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    return _run_all(kernels, acts, objects, parts, met, cursor, woken, waiting, queues)


@jit
def _run_all(kernels, acts, objects, parts, met, cursor, woken, waiting, queues):
    """Run all kernels with arrays that are made outside of compiled code (why: `compile.jit`)."""
    count = kernels.shape[0]
    rings, heads, sizes = queues
    for kernel in range(count):
        enqueue(queues, kernels, kernel)
    left = count
    while sizes[0] + sizes[1] > 0:
        own = 0 if sizes[0] > 0 else 1
        kernel = rings[own, heads[own]]
        heads[own] = (heads[own] + 1) % count
        sizes[own] -= 1
        status = go_on(kernel, kernels, cursor, acts, objects, parts, met, woken, waiting, queues)
        if status == _WRONG:
            return False
        left -= status == _ENDED
    return left == 0


@inner
def go_on(kernel, kernels, cursor, acts, objects, parts, met, woken, waiting, queues):
    """Let a kernel act until it waits or ends."""
    own = objects[kernels[kernel, a.OBJECTS] :]
    while cursor[kernel] < kernels[kernel, a.END]:
        act = acts[cursor[kernel]]
        what, amount, number = act[a.ACT], act[a.AMOUNT], own[act[a.OBJECT]]
        part = parts[number]
        waits, wanted = False, 0
        if what == a.RESERVE:
            waits = part[a.PUSHED] - part[a.POPPED] + amount > part[a.TILES]
            if not waits and part[a.PUSHED] + amount - part[a.TILES] != act[a.EXPECTED]:
                return _WRONG
        elif what == a.AWAIT:
            waits = part[a.PUSHED] - part[a.POPPED] < amount
            if not waits and part[a.POPPED] + amount != act[a.EXPECTED]:
                return _WRONG
        elif what == a.PUSH:
            part[a.PUSHED] += amount
            wake_all(number, waiting, queues, kernels)
        elif what == a.POP:
            waits = part[a.PUSHED] - part[a.POPPED] < amount
            if not waits:
                part[a.POPPED] += amount
                wake_all(number, waiting, queues, kernels)
        elif what == a.MEET:
            since = woken[kernel]
            if since == _NONE and part[a.VALUE] == amount:
                since = part[a.SINCE]
            waits, wanted, woken[kernel] = since == _NONE, amount, _NONE
            if not waits:
                met[kernels[kernel, a.MET] + cursor[kernel] - kernels[kernel, a.FIRST]] = since
        elif what == a.SET:
            change(number, amount, parts, woken, waiting, queues, kernels)
        elif what == a.INCREASE:
            change(number, part[a.VALUE] + amount, parts, woken, waiting, queues, kernels)
        else:
            change(number, parts[own[amount], a.VALUE], parts, woken, waiting, queues, kernels)
        if waits:
            who, many = waiting
            who[number, many[number], 0], who[number, many[number], 1] = kernel, wanted
            many[number] += 1
            return _WAITS
        cursor[kernel] += 1
    return _ENDED


@inner
def enqueue(queues, kernels, kernel):
    """Let a kernel go on when its turn comes."""
    rings, heads, sizes = queues
    own = kernels[kernel, a.IS_MATH]
    rings[own, (heads[own] + sizes[own]) % kernels.shape[0]] = kernel
    sizes[own] += 1


@inner
def wake_all(number, waiting, queues, kernels):
    """Let all go on that wait for a part."""
    who, many = waiting
    for place in range(many[number]):
        enqueue(queues, kernels, who[number, place, 0])
    many[number] = 0


@inner
def change(number, value, parts, woken, waiting, queues, kernels):
    """Give a semaphore a value; kernels that wait for this value go on, even if it changes before they do."""
    part, value = parts[number], value & _VALUES
    part[a.CHANGES] += 1
    if value != part[a.VALUE]:
        part[a.VALUE], part[a.SINCE] = value, part[a.CHANGES]
    who, many = waiting
    left = 0
    for place in range(many[number]):
        kernel, wanted = who[number, place, 0], who[number, place, 1]
        if wanted == value:
            woken[kernel] = part[a.SINCE]
            enqueue(queues, kernels, kernel)
        else:
            who[number, left, 0], who[number, left, 1] = kernel, wanted
            left += 1
    many[number] = left
