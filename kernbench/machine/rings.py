"""Rings of tori: the sides of their datelines, and the check of their channels.

Where packets go along one dimension and then along the other, a cycle of channels lies on one ring. A dateline breaks it: the
packets behind it have channels of their own (W. J. Dally and C. L. Seitz, see `channel_dependencies`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kernbench.errors import InputError
from kernbench.machine.channel_dependencies import Channels, check_channels

if TYPE_CHECKING:
    from kernbench.machine.flow_control import FlowControl

Place = tuple[int, int]  # of a router on a torus, in the order of its dimensions


class Ring(NamedTuple):
    """A ring by the names of its routers in order of their indices, and the ways of packets along it."""

    routers: Sequence[str]
    steps: tuple[int, ...]  # of packets: 1 to rising indices, -1 to falling ones
    hops: int  # of the longest way


def find_sides(places: Sequence[Place | None]) -> list[int]:
    """On which side of the dateline of a ring each link of a way is: 1 before, 2 after, 0 on no ring.

    `places` are those of the nodes of the way; None, or the place of the node before, is off the rings. The dateline of a ring
    is its link between the first and the last index, which is after it.
    """
    found, along, crossed = list[int](), -1, False
    for before, after in pairwise(places):
        if before is None or after is None or before == after:
            along, crossed = -1, False
            found.append(0)
            continue
        (a, b), (to_a, to_b) = before, after
        dimension = int(b == to_b)
        crossed &= dimension == along
        crossed |= abs(to_a - a) + abs(to_b - b) > 1
        along = dimension
        found.append(1 + crossed)
    return found


def check_classes(control: FlowControl) -> None:
    """Check that requests and replies have channels of their own at all ports. Errors: InputError."""
    least = min(port.virtual_channels for port in control.ports)
    if least < 2:
        raise InputError(
            f"requests and replies take virtual channels of their own, but a class of ports has {least}; "
            "give each class 2 or more"
        )


def check_rings(rings: Iterable[Ring], control: FlowControl, channels: int, remedy: str) -> None:
    """Check that packets on rings whose ports have so many virtual channels cannot stand still. Errors: InputError."""
    kinds = (0, 1) if control.layers else (0,)  # requests, replies
    check_channels((way for ring in rings for kind in kinds for way in _ways(ring, control, channels, kind)), remedy)


def _ways(ring: Ring, control: FlowControl, channels: int, is_reply: int) -> Iterator[list[Channels]]:
    """The longest ways from each router of a ring, in each direction."""
    for start in range(len(ring.routers) if len(ring.routers) > 2 else 0):
        for step in ring.steps:
            yield _way(ring, control, channels, start, step, is_reply)


def _way(ring: Ring, control: FlowControl, channels: int, start: int, step: int, is_reply: int) -> list[Channels]:
    found, at, side = list[Channels](), start, 1
    for _ in range(ring.hops):
        to = (at + step) % len(ring.routers)
        side = 2 if abs(to - at) > 1 else side
        kind = control.kind(side, is_reply)
        found.append((f"{ring.routers[at]} -> {ring.routers[to]}", control.channels_of(kind, channels)))
        at = to
    return found
