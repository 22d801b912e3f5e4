"""Layers of virtual channels, which keep packets on any routes from waiting for each other for ever.

The links of a machine get an order. A packet begins in layer 0, and goes on to the next layer of virtual channels where it
takes a link that does not come after the one before it. So channels form no cycle of dependencies (see `channel_dependencies`):
within a layer links follow their order, and layers only rise. Replies go back the way of their requests, in layers of their
own.

The order is made so that few layers suffice: the turns from a link to the next are looked at by how many routes take them, and
each comes to be in order unless those before it forbid that. Then again with more weight on turns that lead beyond layer 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.errors import InputError
from kernbench.machine.network.channel_dependencies import Channels, check_channels

if TYPE_CHECKING:
    from kernbench.machine.intents import Intent
    from kernbench.machine.machine import Machine
    from kernbench.machine.network.flow_control import FlowControl


_TRIALS = 4
_FAR = 10.0  # how much more a turn on a way beyond layer 1 weighs in the next trial


class Origins(NamedTuple):
    """Where routes of one intent begin and end."""

    intent: Intent
    sources: np.ndarray  # int64[] nodes
    ends: np.ndarray  # bool[node]


class _Branches(NamedTuple):
    """The ways from one node: of each other node, those further away behind it."""

    nodes: np.ndarray  # int64[] reached through a link that goes on from another, the nearest first
    turns: np.ndarray  # int64[turn, 2] the link before, and the link to the node
    routes: np.ndarray  # int64[turn] that take it
    depth: np.ndarray  # int64[turn] how many links the node is away


class _Ways(NamedTuple):
    """The turns of all branches, and the order in which each comes after the one before it on its way."""

    turns: np.ndarray  # int64[turn, 2]
    before: np.ndarray  # int64[turn] the turn before it on the way; the number of turns where there is none
    by_depth: list[np.ndarray]  # int64[] turns that are equally far from their sources, the nearest first


class ChannelOrder(NamedTuple):
    """The order of links, and how many layers routes need."""

    rank: np.ndarray  # int32[edge]
    layers: int
    turns: np.ndarray  # int64[turn, 2] all turns of routes


def order_channels(machine: Machine, origins: Iterable[Origins], like: np.ndarray) -> ChannelOrder:
    """The order of the links of a machine for routes of these origins.

    `like`: int64[edge] the link that each link is like; these get the rank of that one.
    """
    from kernels_jit.routing.link_order import rank_links

    branches, links = [found for each in origins for found in _walk(machine, each)], machine.edge_count
    turns, routes = like[np.concatenate([b.turns for b in branches])], np.concatenate([b.routes for b in branches])
    keys, at = np.unique(turns[:, 0] * links + turns[:, 1], return_inverse=True)
    known = np.stack([keys // links, keys % links], axis=1)
    weight, best, ways = np.bincount(at, routes), None, _connect(branches, links)
    for _ in range(_TRIALS):
        rank = rank_links(links, known[np.lexsort((keys, -weight))])[like]
        layer = _layers(rank, ways)
        layers = int(layer.max(initial=0)) + 1
        if best is None or layers < best.layers:
            best = ChannelOrder(rank, layers, known)
        weight = weight + _FAR * np.bincount(at, routes * (layer > 1))
    assert best
    return best


def check_layers(machine: Machine, control: FlowControl, order: ChannelOrder) -> None:
    """Check that all ports have virtual channels for all layers of requests and of replies. Errors: InputError."""
    least = min(port.virtual_channels for port in control.ports)
    needed = 2 * order.layers
    if least >= needed:
        return
    remedy = f"give each class of ports {needed} virtual_channels or more, half of them for replies"
    every = range(least)
    ways: list[list[Channels]] = [
        [(machine.station_name[link], every) for link in turn] for turn in order.turns.tolist()
    ]
    check_channels(ways, remedy)
    raise InputError(
        f"requests and replies take virtual channels of their own, but a class of ports has {least}; {remedy}"
    )


def layers_of(rank: np.ndarray, edges: np.ndarray, whole: np.ndarray, is_reply: bool) -> np.ndarray:
    """int64[link] the layer of each link of a way; `whole`: bool[link] before it is a node that forwards whole messages."""
    turned = np.zeros(len(edges), np.int64)
    if is_reply:
        turned[1:] = rank[edges[1:] ^ 1] >= rank[edges[:-1] ^ 1]
    else:
        turned[1:] = rank[edges[:-1]] >= rank[edges[1:]]
    turned[whole] = 0
    layers = np.cumsum(turned)
    return layers - np.maximum.accumulate(np.where(whole, layers, 0))


def _walk(machine: Machine, origins: Origins) -> Iterator[_Branches]:
    """The ways from each source to the ends."""
    from kernels_jit.routing.dijkstra import count_ways

    for source in origins.sources.tolist():
        last = machine.routing.tree(source, origins.intent)
        nodes, depth, routes = count_ways(last, machine.edge_src, source, origins.ends)
        before = machine.edge_src[last[nodes]]
        on = (before != source) & (routes[nodes] > 0) & ~machine.node_store_and_forward[before]
        nodes, before = nodes[on], before[on]
        turns = np.stack([last[before], last[nodes]], axis=1).astype(np.int64)
        yield _Branches(nodes, turns, routes[nodes], depth[nodes])


def _connect(branches: list[_Branches], links: int) -> _Ways:
    """Find the turn before each: from the same source, to the link that it leaves."""
    turns, depth = (np.concatenate(arrays) for arrays in ([b.turns for b in branches], [b.depth for b in branches]))
    source = np.repeat(np.arange(len(branches)), [len(b.turns) for b in branches])
    left, taken = (source * links + turns[:, side] for side in (0, 1))  # a link is taken once from each source
    order = np.argsort(taken)
    at = np.searchsorted(taken, left, sorter=order)
    found = np.append(order, len(turns))[at]
    before = np.where(np.append(taken, -1)[found] == left, found, len(turns))
    by_depth = np.argsort(depth, kind="stable")
    return _Ways(turns, before, np.split(by_depth, np.flatnonzero(np.diff(depth[by_depth])) + 1))


def _layers(rank: np.ndarray, ways: _Ways) -> np.ndarray:
    """int64[turn] the layer behind each turn."""
    layer = np.append(rank[ways.turns[:, 0]] >= rank[ways.turns[:, 1]], 0).astype(np.int64)
    for turns in ways.by_depth:
        layer[turns] += layer[ways.before[turns]]
    return layer[:-1]
