"""Ring collectives: circulation of messages for kernels, and lower bounds of its time.

In `circulate` all PEs send in the same pattern: first as many of their own messages as a queue has slots, then one for each
message received: the same message if it has farther to go, else the next of their own. So messages arrive in the order of the
PE's own sends, no PE waits for a slot that its neighbour cannot free, and a message is forwarded before its slot is reused.
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
    """A message that travels `hops` steps; `make` returns its tensor when it is sent.

    `elements(distance)` is the size of the message that started `distance` steps behind; a message of 0 is not sent.
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
    """Send messages `forward`, receive those of other PEs from `backward`, and forward those that have farther to go.

    All PEs of the ring call this with messages of the same keys and hops in the same order.
    `take(key, distance, tensor)` is called with each message received, `distance` steps from its sender.
    """
    waiting = deque(message for message in own if message.hops > 0)
    under_way: deque[tuple[Message, int]] = deque()  # messages sent, with the steps taken when they arrive

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
    """Send one tensor in several directions."""
    for direction in directions:
        tl.send(direction, tensor)


def ring_way(distance: int, world_size: int) -> tuple[str | None, list[str]]:
    """The direction towards the root (None at the root) and those away from it, of a rank `distance` ranks east of the root."""
    half = world_size // 2
    if distance == 0:
        return None, [EAST] * (world_size > 1) + [WEST] * (world_size > 2)
    if distance <= half:
        return WEST, [EAST] * (distance < half)
    return EAST, [WEST] * (distance - 1 > half)


def half_ring_bound(cost: Cost, world: World, nbytes: int) -> float:
    """Bound (ns) between root and all ranks, both ways around: all pieces over one link, the last one half way round."""
    link, half = cost.best(EAST, WEST), world.ranks // 2
    return cost.stream_ns(link, nbytes) + (half - 1) * cost.trip_ns(link, nbytes) if half else 0.0


def whole_ring_bound(cost: Cost, nbytes: int, sent: int) -> float:
    """Bound (ns) east from all ranks to all: each sends `sent` buffers one by one; one of them takes P - 1 hops."""
    links = cost.links(EAST)
    if len(links) < 2:
        return 0.0
    hops = [cost.trip_ns(link, nbytes) for link in links]
    return max(sum(hops) - max(hops), sent * max(cost.stream_ns(link, nbytes) for link in links))
