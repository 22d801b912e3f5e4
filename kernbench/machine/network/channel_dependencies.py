"""Channel dependencies: which virtual channels packets hold while they wait for others. A cycle of them may stand still.

W. J. Dally and C. L. Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", *IEEE Transactions on
Computers* C-36(5), 1987: routing is free of deadlock if these dependencies form no cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, cast

from kernbench.errors import InputError

Channels = tuple[str, range]  # a link by name, and the virtual channels that a packet may take there
_MOST = 8  # hops of a cycle that are named


def find_cycle(ways: Iterable[Sequence[Channels]]) -> list[Channels] | None:
    """The channels of the first cycle of dependencies of some ways, in order; None if there is none.

    The ranges of channels of one link are equal or have nothing in common.
    """
    import networkx

    library = cast("Any", networkx)
    graph = library.DiGraph()
    for way in ways:
        graph.add_edges_from(pairwise(way))
    try:
        return [before for before, _ in library.find_cycle(graph)]
    except networkx.NetworkXNoCycle:
        return None


def check_channels(ways: Iterable[Sequence[Channels]], remedy: str) -> None:
    """Check that ways cannot stand still. Errors: InputError that names the hops of a cycle, and what would break it."""
    found = find_cycle(ways)
    if found is None:
        return
    hops = [f"{link} on {_name(channels)}" for link, channels in found[:_MOST]]
    more = [f"{len(found) - _MOST} more links"] if len(found) > _MOST else []
    raise InputError(
        "packets can wait for each other for ever, since each of these channels waits for the next and the last for the "
        f"first: {', '.join(hops + more)}; {remedy}"
    )


def _name(channels: range) -> str:
    if len(channels) == 1:
        return f"channel {channels.start}"
    return f"channels {channels.start} to {channels.stop - 1}"
