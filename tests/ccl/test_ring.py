"""Circulation of messages around a ring: order, windows, deliveries."""

from __future__ import annotations

from collections import deque

import pytest

from kernbench.ccl.ring import EAST, WEST, Message, circulate, ring_way

greenlet = pytest.importorskip("greenlet")


class Ring:
    """PEs whose sends wait for slots and whose receives wait for messages, taking turns."""

    def __init__(self, count: int, slots: int) -> None:
        self.queues = [deque() for _ in range(count)]  # to the PE of that number
        self.slots, self.most = slots, 0

    def run(self, kernel) -> None:
        pes = [greenlet.greenlet(lambda at=at: kernel(at, Pe(self, at))) for at in range(len(self.queues))]
        for _ in range(100_000):
            alive = [pe for pe in pes if not pe.dead]
            if not alive:
                return
            for pe in alive:
                pe.switch()
        raise AssertionError("the ring is stuck")


class Pe:
    def __init__(self, ring: Ring, at: int) -> None:
        self.ring, self.at = ring, at

    def send(self, direction: str, tensor: object) -> None:
        assert direction == "E"
        queue = self.ring.queues[(self.at + 1) % len(self.ring.queues)]
        while len(queue) == self.ring.slots:
            greenlet.getcurrent().parent.switch()
        queue.append(tensor)
        self.ring.most = max(self.ring.most, len(queue))

    def recv(self, direction: str, elements: int, dtype: str) -> object:
        assert (direction, dtype) == ("W", "f16")
        queue = self.ring.queues[self.at]
        while not queue:
            greenlet.getcurrent().parent.switch()
        tensor = queue.popleft()
        assert tensor[2] == elements
        return tensor


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("pieces", [0, 1, 7])
def test_every_message_comes_by_everyone_it_should(count: int, slots: int, pieces: int) -> None:
    ring = Ring(count, slots)
    taken: list[tuple] = []

    def kernel(at: int, tl: Pe) -> None:
        own = [
            Message(i, (i + at * 0) % count if i % 2 else count - 1, lambda d, i=i: 10 + i, lambda i=i: (at, i, 10 + i))
            for i in range(pieces)
        ]
        circulate(tl, own, lambda key, far, x: taken.append((at, key, far, x)), dtype="f16", window=slots)

    ring.run(kernel)
    expected = {
        ((at + far) % count, i, far, (at, i, 10 + i))
        for at in range(count)
        for i in range(pieces)
        for far in range(1, (i % count if i % 2 else count - 1) + 1)
    }
    assert set(taken) == expected
    assert len(taken) == len(expected)
    assert ring.most <= slots


def test_a_message_of_nothing_is_not_sent() -> None:
    ring, taken = Ring(3, 2), []

    def kernel(at: int, tl: Pe) -> None:
        def elements(distance: int) -> int:
            return 0 if (at - distance) % 3 == 1 else 4

        own = [Message("a", 2, elements, lambda: (at, "a", 4))]
        circulate(tl, own, lambda key, far, x: taken.append((at, x[0])), dtype="f16", window=2)

    ring.run(kernel)
    assert sorted(taken) == [(0, 2), (1, 0), (1, 2), (2, 0)]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8])
def test_both_ways_around_lead_from_the_root_to_everyone_once(count: int) -> None:
    step = {EAST: 1, WEST: -1}
    told = [(at, side) for at in range(count) for side in ring_way(at, count)[1]]
    assert {((at + step[side]) % count, {EAST: WEST, WEST: EAST}[side]) for at, side in told} == {
        (at, ring_way(at, count)[0]) for at in range(1, count)
    }
    assert len(told) == count - 1
    assert ring_way(0, count)[0] is None
