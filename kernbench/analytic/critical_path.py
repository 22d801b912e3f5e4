"""Critical path: the longest path through a program without waits for busy parts, as a form."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.analytic.linear_forms import Forms
from kernbench.analytic.transfers import write_moves
from kernbench.program.ops import LONGEST_FS, NONE, Op
from kernels_jit.bounds import longest_path

if TYPE_CHECKING:
    from kernbench.analytic.model import ProgramModel
    from kernbench.analytic.precedence_graph import PrecedenceGraph
    from kernbench.analytic.rows import Rows
    from kernbench.analytic.transfers import Moves

_NEVER = 1 << 60
_MOST_FS = float(np.nextafter(LONGEST_FS, 0))  # of a node: a longer time alone is beyond the clock


class RowCosts(NamedTuple):
    """Cost of each node: a duration, a transfer, both or neither."""

    duration: np.ndarray  # int64[node]; 0 is that of nothing
    kind: np.ndarray  # int64[node] of transfer; that of an injection after all kinds; NONE: no transfer
    server: np.ndarray  # int64[node] it occupies, or NONE


def list_costs(rows: Rows, moves: Moves, order: PrecedenceGraph) -> RowCosts:
    """The costs of all nodes of a program's order."""
    nodes = len(order.floor)
    duration, kind, server = np.zeros(nodes, np.int64), np.full(nodes, NONE), np.full(nodes, NONE)
    delays = rows.row[rows.kind == Op.DELAY]
    duration[delays] = rows.op[delays, 1]
    for stage, timed_by, on in ((rows.jobs, 2, 1), (rows.moves, 7, 5)):
        duration[stage], server[stage] = rows.op[stage, timed_by], rows.op[stage, on]
    kind[rows.moves] = moves.kind
    kind[nodes - len(order.injected) :] = len(moves.route) + kind[order.injected]
    return RowCosts(duration, kind, server)


def write_path(model: ProgramModel, move_forms: np.ndarray, atoms_fs: np.ndarray) -> Forms:
    """The longest path where atoms take these times. `move_forms`: float64[kind, atom]; `atoms_fs`: float64[atom]."""
    order, costs, durations = model.order, model.costs, model.durations
    forms = np.concatenate([move_forms, model.moves.first])
    cost = _list_times(model, forms, atoms_fs)
    end, decided = longest_path.find_longest(*order[:4], order.floor, cost)
    form = np.zeros(len(atoms_fs))
    if not len(end):
        return Forms("path", np.array([NONE]), form[None])
    node, edge = longest_path.trace(int(np.argmax(end)), order.before, decided)
    form[0] = order.floor[node[-1]] + order.gain[edge[:-1]].sum()
    duration, kind, server = costs.duration[node], costs.kind[node], costs.server[node]
    np.add.at(form, durations.atom[duration], durations.amount[duration])
    form += np.bincount(kind[kind != NONE], minlength=len(forms)) @ forms
    spent = np.bincount(server + 1, weights=cost[node])  # what is on no server comes first
    return Forms("path", np.array([np.argmax(spent) - 1]), form[None])


def find_after(model: ProgramModel, starts: np.ndarray, atoms_fs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int64[row] twice: the least time from rows that begin together to the issue, and to the end, of each row.

    Less than nothing where it may be before them. `starts`: int64[] rows; `atoms_fs`: float64[atom].
    """
    forms = np.concatenate([write_moves(model.moves, atoms_fs), model.moves.first])
    floor = np.full(len(model.order.floor), -_NEVER)
    floor[starts] = 0
    end, _ = longest_path.find_longest(*model.order[:4], floor, _list_times(model, forms, atoms_fs))
    issue, rows = np.full(len(end), -_NEVER), model.rows
    issue[rows.row] = np.where(rows.blocker == NONE, -_NEVER, end[rows.blocker])
    return issue[: len(rows.op)], end[: len(rows.op)]


def _list_times(model: ProgramModel, forms: np.ndarray, atoms_fs: np.ndarray) -> np.ndarray:
    """int64[node] the time of each node alone."""
    move_fs = np.append(np.rint(forms @ atoms_fs), 0)  # kind NONE is the last
    duration_fs = model.durations.amount * atoms_fs[model.durations.atom]
    times = duration_fs[model.costs.duration] + move_fs[model.costs.kind]
    return np.minimum(times, _MOST_FS).astype(np.int64)
