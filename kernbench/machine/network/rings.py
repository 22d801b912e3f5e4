"""Rings of tori: the halves of virtual channels that a dateline divides, and the check that no packets stand still there.

Where packets go along one dimension and then along the other, a cycle of channels lies on one ring. A dateline breaks it: some
packets have channels of their own (W. J. Dally and C. L. Seitz, see `channel_dependencies`), those behind it, or those that
cross it. The latter suffices where no way has all links of a ring between its two ends, as where packets go the shorter way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.errors import InputError
from kernbench.machine.network.channel_dependencies import Channels, check_channels
from kernbench.machine.network.flow_control import Dateline

if TYPE_CHECKING:
    from kernbench.machine.network.flow_control import FlowControl

Place = tuple[int, int]  # of a router on a torus, in the order of its dimensions


class Ring(NamedTuple):
    """A ring by the names of its routers in order of their indices, and the ways of packets along it."""

    routers: Sequence[str]
    steps: tuple[int, ...]  # of packets: 1 to rising indices, -1 to falling ones
    hops: int  # of the longest way


def find_halves(places: Sequence[Place | None], dateline: str) -> list[int]:
    """Which half of the virtual channels a packet takes on each link of a way: 1 or 2, or 0 on no ring.

    `places` are those of the nodes of the way; None, or the place of the node before, is off the rings. The dateline of a ring
    is its link between the first and the last index, which is after it.
    """
    found = list[int]()
    for is_on_ring, links in groupby(pairwise(places), _dimension_of):
        way = list(links)
        found += [0] * len(way) if is_on_ring is None else halves_along(map(_closes, way), dateline)
    return found


def halves_along(closes: Iterable[bool], dateline: str) -> list[int]:
    """The halves on links along one ring, of which some close it."""
    links = list(closes)
    if not any(links):
        return [1] * len(links)
    before = 0 if dateline == Dateline.PACKET else links.index(True)
    return [1] * before + [2] * (len(links) - before)


def _dimension_of(link: tuple[Place | None, Place | None]) -> int | None:
    """The dimension along which a link leads; None: it is on no ring."""
    before, after = link
    return None if before is None or after is None or before == after else int(before[1] == after[1])


def _closes(link: Any) -> bool:
    (a, b), (to_a, to_b) = link
    return abs(to_a - a) + abs(to_b - b) > 1


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
    """The longest ways from each router of a ring, in each direction, and the longest that do not cross the dateline."""
    for start in range(len(ring.routers) if len(ring.routers) > 2 else 0):
        for step in ring.steps:
            places = [(start + step * hop) % len(ring.routers) for hop in range(ring.hops + 1)]
            links = list(pairwise(places))
            for way in (links, list(takewhile(lambda link: abs(link[1] - link[0]) == 1, links))):
                yield _way(ring, control, channels, way, is_reply)


def _way(ring: Ring, control: FlowControl, channels: int, way: list[tuple[int, int]], is_reply: int) -> list[Channels]:
    halves = halves_along((abs(to - at) > 1 for at, to in way), control.dateline)
    return [
        (f"{ring.routers[at]} -> {ring.routers[to]}", control.channels_of(control.kind(half, is_reply), channels))
        for (at, to), half in zip(way, halves, strict=True)
    ]
