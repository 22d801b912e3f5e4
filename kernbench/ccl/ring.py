"""Rings of equals: messages that travel around them, for kernels, and what that cannot take less than.

In `circulate` all send alike: first as many of their own messages as the ring between two neighbours has slots, then, for each
that comes in, one: the same message if it has farther to go, else the next of their own. So what comes in is in the order in
which one has sent oneself, nobody waits for a slot that a neighbour cannot free, and a slot is passed on before it is used
again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kernbench.ccl.alpha_beta import Cost
    from kernbench.ccl.wiring import World

EAST, WEST = "global_E", "global_W"  # along the ring of ranks


class Message(NamedTuple):
    """One that travels `hops` steps; `make` brings its tensor when it is sent.

    `elements(distance)` is how many the message has that began `distance` steps behind; one of 0 is not sent.
    """

    key: Any
    hops: int
    elements: Callable[[int], int]
    make: Callable[[], Any]


def circulate(
    tl: Any,
    own: Sequence[Message],
    take: Callable[[Any, int, Any], None],
    *,
    dtype: str,
    window: int,
    forward: str = "E",
    backward: str = "W",
) -> None:
    """Send messages `forward`, receive those of the others from `backward`, and pass on what has farther to go.

    All PEs of the ring call this with messages of the same keys and hops in the same order.
    `take(key, distance, tensor)` is given each message that comes by, `distance` steps from its sender.
    """
    waiting = deque(message for message in own if message.hops > 0)
    under_way: deque[tuple[Message, int]] = deque()  # what has been sent, with the steps taken when it arrives

    def begin() -> None:
        message = waiting.popleft()
        if message.elements(0):
            tl.send(forward, message.make())
        under_way.append((message, 1))

    while waiting and len(under_way) < window:
        begin()
    while under_way:
        message, distance = under_way.popleft()
        elements = message.elements(distance)
        tensor = tl.recv(backward, elements, dtype) if elements else None
        if distance < message.hops:
            if elements:
                tl.send(forward, tensor)
            under_way.append((message, distance + 1))
        elif waiting:
            begin()
        if elements:
            take(message.key, distance, tensor)


def pass_on(tl: Any, directions: Sequence[str], tensor: Any) -> None:
    """Send one tensor into several directions."""
    for direction in directions:
        tl.send(direction, tensor)


def ring_way(distance: int, world_size: int) -> tuple[str | None, list[str]]:
    """Towards the root (None: this is it) and away from it, both ways around, so many ranks east of the root."""
    half = world_size // 2
    if distance == 0:
        return None, [EAST] * (world_size > 1) + [WEST] * (world_size > 2)
    if distance <= half:
        return WEST, [EAST] * (distance < half)
    return EAST, [WEST] * (distance - 1 > half)


def half_ring_bound(cost: Cost, world: World, nbytes: int) -> float:
    """Between root and all ranks both ways around (ns): all pieces over one link, the last one half way round."""
    link, half = cost.best(EAST, WEST), world.ranks // 2
    return cost.stream_ns(link, nbytes) + (half - 1) * cost.trip_ns(link, nbytes) if half else 0.0


def whole_ring_bound(cost: Cost, nbytes: int, sent: int) -> float:
    """East from all ranks to all (ns): everyone sends so many buffers one by one; one of them takes P - 1 hops."""
    links = cost.links(EAST)
    if len(links) < 2:
        return 0.0
    hops = [cost.trip_ns(link, nbytes) for link in links]
    return max(sum(hops) - max(hops), sent * max(cost.stream_ns(link, nbytes) for link in links))
