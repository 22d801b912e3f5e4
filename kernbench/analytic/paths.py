"""The longest path through a program where nobody waits for a busy part, as a form."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.program.ops import NONE, Op
from kernels_jit import bounds

if TYPE_CHECKING:
    from kernbench.analytic.moves import Moves
    from kernbench.analytic.order import Order
    from kernbench.analytic.rows import Rows
    from kernbench.analytic.work import Durations


class Costs(NamedTuple):
    """What each node takes by itself: a duration, a transfer, both or neither."""

    duration: np.ndarray  # int64[node]; 0 is that of nothing
    kind: np.ndarray  # int64[node] of transfer; that of an injection after all kinds; NONE: no transfer
    server: np.ndarray  # int64[node] it occupies, or NONE


def list_costs(rows: Rows, moves: Moves, order: Order) -> Costs:
    """The costs of all nodes of a program's order."""
    nodes = len(order.floor)
    duration, kind, server = np.zeros(nodes, np.int64), np.full(nodes, NONE), np.full(nodes, NONE)
    delays = rows.row[rows.kind == Op.DELAY]
    duration[delays] = rows.op[delays, 1]
    for code, timed_by, on in ((Op.EXEC, 2, 1), (Op.MOVE, 7, 5)):
        stage = rows.stage[rows.op[rows.stage, 0] == code]
        duration[stage], server[stage] = rows.op[stage, timed_by], rows.op[stage, on]
    kind[moves.row] = moves.kind
    kind[nodes - len(order.injected) :] = len(moves.route) + kind[order.injected]
    return Costs(duration, kind, server)


def write_path(
    order: Order, costs: Costs, durations: Durations, move_forms: np.ndarray, atoms_fs: np.ndarray
) -> tuple[np.ndarray, int]:
    """float64[atom]: the longest path where atoms take these times, and the server it spends most on, or NONE.

    `move_forms`: float64[kind, atom], of the kinds in `Costs`.
    """
    move_fs = np.append(np.rint(move_forms @ atoms_fs).astype(np.int64), 0)
    duration_fs = (durations.amount * atoms_fs[durations.atom]).astype(np.int64)
    cost = duration_fs[costs.duration] + move_fs[costs.kind]
    end, decided = bounds.find_longest(*order[:5], cost)
    form = np.zeros(len(atoms_fs))
    if not len(end):
        return form, NONE
    node, edge = bounds.trace(int(np.argmax(end)), order.before, decided)
    form[0] = order.floor[node[-1]] + order.gain[edge[:-1]].sum()
    duration, kind, server = costs.duration[node], costs.kind[node], costs.server[node]
    np.add.at(form, durations.atom[duration], durations.amount[duration])
    form += np.bincount(kind[kind != NONE], minlength=len(move_forms)) @ move_forms
    spent = np.bincount(server + 1, weights=cost[node])  # what is on no server comes first
    return form, int(np.argmax(spent)) - 1
