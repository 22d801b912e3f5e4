"""Precedence graph of a program: the order of rows that holds for every machine.

* A row of a thread comes after the row for which the thread last waited; a stage of a token after the stage before it; a PIPE
  is complete after all its tokens.
* Tokens of one thread whose stages so far were on the same servers, one after the other, each with one slot, are served by
  each of these in the thread's order: first come first served on the first, so first come on the next. So a token's use of
  such a server comes after that of the token before it.
* Messages that one thread sends over the same first link leave it in the thread's order, so each begins when the link has
  served all flits of the one before. What the link has served is a node of its own, an *injection*.
* A WAIT comes after whatever must have been added. It needs its value and all that its thread has taken before; if all that
  is ever added to the counter, less what this thread itself adds after the wait, is barely enough, then each addend comes
  before. If another thread alone adds, more than is needed, then the wait comes after the start of as many as are needed.
  Nothing is said of counters from which something is added that is negative, nor where addends may replace each other.

Each edge holds for every machine figure, so each path along edges is a bound everywhere. A program that has no order, or a wait
for more than is ever added, cannot finish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.analytic.rows import Rows
from kernbench.arrays import expand_ranges
from kernbench.errors import DeadlockError
from kernbench.program.ops import NONE, Op
from kernels_jit.bounds import longest_path
from kernels_jit.layout import codes

if TYPE_CHECKING:
    from kernbench.program.program import Program


class PrecedenceGraph(NamedTuple):
    """A graph over the rows of the op table, then the counters, then the injections.

    A counter comes after all that is added to it.
    """

    node: np.ndarray  # int64[node] sorted: each after all before it
    before_start: np.ndarray  # int64[node + 1]
    before: np.ndarray  # int64[edge]
    gain: np.ndarray  # int64[edge] fs from the end of the one before
    floor: np.ndarray  # int64[node] fs before which it does not begin
    injected: np.ndarray  # int64[injection] row of the message
    # int64[row] stages of one number are served one after the other, in an order that is known; or NONE
    chain: np.ndarray


class _Edges:
    """Edges as they are found."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def add(self, before: np.ndarray, after: np.ndarray, gain: np.ndarray | int = 0) -> None:
        """Edges from one array of nodes to another; none from NONE."""
        found = before != NONE
        self._parts.append((before[found], after[found], np.broadcast_to(gain, len(before))[found]))

    def gathered(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All edges among `nodes` nodes, as `longest_path.group_edges`."""
        return longest_path.group_edges(count, *(np.concatenate(part) for part in zip(*self._parts, strict=True)))


def build_precedence_graph(program: Program, rows: Rows) -> PrecedenceGraph:
    """The order of a program. Errors: DeadlockError where there can be none."""
    edges, op = _Edges(), rows.op
    edges.add(rows.blocker, rows.row)
    _order_stages(edges, rows)
    _order_arrivals(edges, rows, program)
    chain = _order_servers(edges, rows, np.asarray(program.machine.server_slots))
    _order_waits(edges, rows, program)
    injected = _order_messages(edges, rows, program)
    count = len(op) + len(program.counter_labels) + len(injected)
    before_start, before, gain = edges.gathered(count)
    node, placed = longest_path.sort_topologically(before_start, before)
    if placed < count:
        raise DeadlockError(f"deadlock: {_describe(program, int(node[placed]))} comes after itself")
    floor = np.zeros(count, np.int64)
    until = rows.row[rows.kind == Op.UNTIL]
    floor[until] = op[until, 1]
    return PrecedenceGraph(node, before_start, before, gain, floor, injected, chain)


def _describe(program: Program, node: int) -> str:
    if node >= len(program.op) + len(program.counter_labels):
        return "a message"
    if node >= len(program.op):
        return f"what is added to {program.counter_labels[node - len(program.op)]}"
    thread = int(program.op_thread[node])
    return f"row {node}, {'of a tile plan' if thread == NONE else f'of {program.threads[thread].name}'},"


def _order_stages(edges: _Edges, rows: Rows) -> None:
    first, stage = rows.token_start[rows.stage_token], rows.stage
    edges.add(np.where(stage > first, stage - 1, NONE), stage)
    by = rows.row[rows.token_place]
    piped = rows.op[by, 0] == Op.PIPE
    edges.add(rows.blocker[rows.token_place][piped], rows.token_start[piped])
    edges.add(rows.token_end[piped] - 1, by[piped])


def _order_arrivals(edges: _Edges, rows: Rows, program: Program) -> None:
    """Of a transfer to many, the arrival at the destination whose path represents it comes before its acknowledgement."""
    routes, row = program.machine.routing.tables(), rows.row[rows.kind == Op.MOVE]
    route = rows.op[row, 1]
    known = (routes.destinations[route] > 0) & (routes.reached[route] != NONE)
    row, route = row[known], route[known]
    edges.add(row, row + 1 + routes.reached[route], -routes.tail_fs[routes.path[route]])


def _order_servers(edges: _Edges, rows: Rows, slots: np.ndarray) -> np.ndarray:
    """int64[row] the chain of each stage, or NONE."""
    op: np.ndarray = rows.op[rows.stage]
    server: np.ndarray = np.where(op[:, 0] == Op.EXEC, op[:, 1], op[:, 5])
    token, count = rows.stage_token, len(slots) + 1
    new = np.ones(len(server), bool)
    new[1:] = (token[1:] != token[:-1]) | (server[1:] != server[:-1]) | (server[1:] == NONE)
    first = np.flatnonzero(new)  # of each hold: consecutive stages of a token on one server
    last = np.append(first, len(new))[1:] - 1
    token, server = token[first], server[first]
    depth = np.arange(len(first)) - np.searchsorted(token, token)
    one = (server != NONE) & (slots[server] == 1)
    prefix = np.full(len(first), NONE)  # which servers the token has been on, this one included
    parent, known = rows.thread[rows.token_place][token], 0
    for level in range(int(depth.max(initial=-1)) + 1):
        here = np.flatnonzero((depth == level) & one & (parent != NONE))
        ways, way = np.unique(parent[here] * count + server[here], return_inverse=True)
        prefix[here] = known + way
        known += len(ways)
        parent = np.append(NONE, prefix)[:-1]
    kept = np.flatnonzero(prefix != NONE)
    kept = kept[np.argsort(prefix[kept], kind="stable")]
    pairs = np.flatnonzero(prefix[kept[1:]] == prefix[kept[:-1]])
    edges.add(rows.stage[last[kept[pairs]]], rows.stage[first[kept[pairs + 1]]])
    chain = np.full(len(rows.op), NONE)
    chain[rows.stage] = np.repeat(prefix, last + 1 - first)
    return chain


def _order_messages(edges: _Edges, rows: Rows, program: Program) -> np.ndarray:
    """int64[injection] the rows of messages that follow or precede others."""
    routes, op = program.machine.routing.tables(), rows.op[rows.row]
    place = np.flatnonzero((rows.kind == Op.MOVE) & (op[:, 2] > 0) & (op[:, 5] == NONE))
    first = routes.start[routes.path[op[place, 1]]]
    at_once = (routes.lead_fs[op[place, 1]] == 0) & (routes.overhead_fs[first] == 0)
    sent = at_once & (routes.station[first] < program.machine.edge_count)
    place, link = place[sent], routes.station[first[sent]]
    lead, thread = op[place, 7], rows.thread[place]
    order = np.lexsort((place, lead, link, thread))
    place, key = place[order], np.stack([thread, link, lead])[:, order]
    node = len(rows.op) + len(program.counter_labels) + np.arange(len(place))
    follows = (np.diff(key) == 0).all(axis=0)
    edges.add(rows.blocker[place], node)
    edges.add(node[:-1][follows], node[1:][follows])
    edges.add(node[:-1][follows], rows.row[place[1:][follows]])
    return rows.row[place]


def _order_waits(edges: _Edges, rows: Rows, program: Program) -> None:
    tail_fs = program.machine.routing.tables().tail_fs
    addends, counters = _list_addends(rows, tail_fs), len(program.counter_labels)
    edges.add(addends.row, len(rows.op) + addends.counter, addends.gain)
    wait = np.flatnonzero(rows.kind == Op.WAIT)
    op: np.ndarray = rows.op[rows.row[wait]]
    thread = rows.thread[wait]
    counter = op[:, 1]
    total, least, unclear = _sum_up(addends, rows, counters)
    first, end = (addends.find(counter, np.searchsorted(rows.thread, thread, side)) for side in ("left", "right"))
    here = addends.find(counter, wait)
    summed = np.concatenate([[0], np.cumsum(addends.amount)])
    later, own = summed[end] - summed[here], summed[end] - summed[first]
    need, possible = op[:, 3] + _taken_before(counter, thread, op[:, 4]), total[counter] - later
    bound = (need > 0) & ~unclear[counter]
    for at in np.flatnonzero(bound & (possible < need))[:1]:
        raise DeadlockError(
            f"deadlock: {program.threads[thread[at]].name} waits for {program.counter_labels[counter[at]]} to come to "
            f"{need[at]} in all, but only {possible[at]} can be added before"
        )
    every, alone = bound & (possible - need < least[counter]), own == total[counter]
    shared = every & (later == 0) & ~alone
    edges.add(len(rows.op) + counter[shared], rows.row[wait[shared]])
    _wait_for_own(edges, rows, addends, *(x[every & alone] for x in (wait, first, here)))
    start = addends.find(np.arange(counters + 1), 0)
    of_one = np.append(addends.thread, NONE)[start[:-1]] == np.append(NONE, addends.thread)[start[1:]]
    ordered = bound & ~every & of_one[counter] & (own == 0)
    nth = np.searchsorted(summed, summed[start[counter[ordered]]] + need[ordered]) - 1
    edges.add(rows.blocker[addends.place[nth]], rows.row[wait[ordered]])


def _wait_for_own(
    edges: _Edges, rows: Rows, addends: _Addends, wait: np.ndarray, first: np.ndarray, end: np.ndarray
) -> None:
    """Waits for all that their own threads have added so far: addends `first` to `end`."""
    order = np.lexsort((wait, first))  # the first addend tells counter and thread
    wait, first, end = wait[order], first[order], end[order]
    again = np.append(NONE, first)[:-1] == first
    since = np.where(again, np.append(0, end)[:-1], first)  # the wait before has seen to the others
    at, of = expand_ranges(since, end)
    edges.add(addends.row[at], rows.row[wait[of]], addends.gain[at])


class _Addends(NamedTuple):
    """The positive additions to counters, by counter and place."""

    counter: np.ndarray
    place: np.ndarray
    thread: np.ndarray
    row: np.ndarray  # by whose end it is added
    amount: np.ndarray
    gain: np.ndarray  # fs from that end: less than zero for arrivals
    places: int

    def find(self, counter: np.ndarray, place: np.ndarray | int) -> np.ndarray:
        """The first addend to a counter at or after a place, else the first to the next counter."""
        width = self.places + 1
        return np.searchsorted(self.counter * width + self.place, counter * width + place)


def _list_addends(rows: Rows, tail_fs: np.ndarray) -> _Addends:
    op, kind = rows.op[rows.row], rows.kind
    found: list[np.ndarray] = []
    for code, column in codes.ADDENDS:
        place = np.flatnonzero((kind == code) & (op[:, column] != NONE))
        amount = op[place, 2] if code == Op.ADD else np.ones(len(place), np.int64)
        gain = -tail_fs[op[place, 1]] if column == 6 else np.zeros(len(place), np.int64)
        found.append(np.stack([op[place, column], place, amount, gain])[:, amount > 0])
    counter, place, amount, gain = np.concatenate(found, axis=1)
    order = np.lexsort((place, counter))
    place = place[order]
    return _Addends(
        *(counter[order], place, rows.thread[place], rows.row[place], amount[order], gain[order]), len(rows.row)
    )


def _sum_up(addends: _Addends, rows: Rows, counters: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By counter: all that is added, the least addend, and whether something negative is added or taken."""
    op, kind = rows.op[rows.row], rows.kind
    total, unclear = np.zeros(counters, np.int64), np.zeros(counters, bool)
    least = np.full(counters, np.iinfo(np.int64).max)
    np.add.at(total, addends.counter, addends.amount)
    np.minimum.at(least, addends.counter, addends.amount)
    unclear[op[(kind == Op.ADD) & (op[:, 2] < 0), 1]] = True
    unclear[op[(kind == Op.WAIT) & (op[:, 4] < 0), 1]] = True
    return total, least, unclear


def _taken_before(counter: np.ndarray, thread: np.ndarray, take: np.ndarray) -> np.ndarray:
    """The amount that the thread of each wait took from its counter before; waits are in the order of threads and rows."""
    order = np.lexsort((thread, counter))
    summed = np.cumsum(take[order]) - take[order]
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(counter[order]) != 0) | (np.diff(thread[order]) != 0)
    before = np.empty(len(order), np.int64)
    starts = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    before[order] = summed - summed[starts]
    return before
