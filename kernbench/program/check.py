"""Checks of a device program: each operand against its range, which follows from the table `ops.OPERANDS`.

An id out of range would corrupt a run silently, so rows of all front-ends are checked. A program is checked as it grows, each
row and each plan once.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import FLITS_MOST, NONE, OPERANDS, ROW_WIDTH, Op
from kernels_jit.loop.op_rows import (
    APART,
    COUNTED_ABOVE,
    COUNTS,
    FEW_ARRIVALS,
    LATER_BRANCH,
    NO_STAGE,
    NO_STAGES,
    NO_TOKENS,
    NO_TRANSFER,
    find_illegal,
    find_wrong_arrival,
    find_wrong_plan,
)

if TYPE_CHECKING:
    from kernbench.program.encoded_rows import EncodedRows
    from kernbench.program.program import Program

_LARGEST = 1 << 60  # of times, sizes and amounts

_KINDS = sorted({operand for operands in OPERANDS.values() for operand in operands})
_NAMES = [kind.rstrip("?+") for kind in _KINDS]
_WIDEST = np.iinfo(np.int64)
_LEAST = np.array(
    [NONE if kind.endswith("?") else -_LARGEST if kind == "amount" else 0 for kind in _KINDS] + [_WIDEST.min], np.int64
)
_END = np.array([2 if kind == "compare" else _LARGEST for kind in _KINDS] + [_WIDEST.max], np.int64)
_DURATION, _ROUTE, _PLAN, _BYTES = (_KINDS.index(kind) for kind in ("duration", "route", "plan", "bytes"))
_SERVERS, _COUNTERS = ([at for at, name in enumerate(_NAMES) if name == what] for what in ("server", "counter"))
_KIND_AT = np.full((len(Op), ROW_WIDTH), len(_KINDS), np.int64)  # the last kind: no operand, so any value is legal
for _op, _operands in OPERANDS.items():
    _KIND_AT[_op, 1 : 1 + len(_operands)] = [_KINDS.index(operand) for operand in _operands]


_PROBLEMS = {
    NO_TOKENS: "has no tokens; do not pipe nothing",
    NO_STAGES: "has a token without stages",
    NO_STAGE: "has a stage that is neither EXEC nor MOVE",
    COUNTS: "has a stage with a counter; tokens count by their plan",
    APART: "has tokens that do not all begin on one server",
}


_ARRIVE = int(Op.ARRIVE)  # reading an enum's member costs a lookup
_ARRIVAL_PROBLEMS = {
    LATER_BRANCH: "takes a branch of a route to many; name the route itself",
    COUNTED_ABOVE: "counts the arrival of a transfer to many in its own row; count it in the rows that follow",
    FEW_ARRIVALS: "comes where an arrival must be; a transfer to many is followed by an ARRIVE for each destination",
    NO_TRANSFER: "is an arrival without a transfer; a MOVE to many must come before",
}


class ProgramError(ValueError):
    """A program has an illegal row or plan; the message names the row, the operand and its range."""


def check_rows(program: Program) -> None:
    """Check the flushed rows, and the plans with stages among them, except those checked before.

    Errors: ProgramError.
    """
    if (sizes := program.sizes) != program.checked_sizes:  # seldom: a live kernel adds few rows at a time
        program.checked_sizes, program.legal = sizes, _find_legal(program)
        program.has_trees = bool(program.machine.routing.tables().destinations.any())
    op, legal = program.op, program.legal
    entry, column = find_illegal(op.values, program.checked_entries, legal)
    if entry != NONE:
        row, kind, value = int((op.entry == entry).argmax()), op.values[entry, 0], op.values[entry, column]
        if column == 0:
            raise ProgramError(f"row {row} has opcode {kind}; known: 0 to {len(Op) - 1}")
        name, (least, end) = _NAMES[int(_KIND_AT[kind, column])], legal[kind, column]
        raise ProgramError(f"row {row} ({Op(kind).name}): {name} is {value}; it must be in [{least}, {end})")
    _check_arrivals(program, op)
    if program.plan_rows and program.plan_rows[-1] >= program.checked_rows:
        _check_plans(program, bisect_left(program.plan_rows, program.checked_rows))
    program.checked_rows, program.checked_entries = len(op), len(op.values)


def _check_arrivals(program: Program, op: EncodedRows) -> None:
    """Check the rows of transfers to many; most programs have none. Without routes to many, any arrival is wrong."""
    if program.has_trees or (op.values[program.checked_entries :, 0] == _ARRIVE).any():
        routes, threads = program.machine.routing.tables(), program.op_thread
        tables = op.values, op.entry, threads.values, threads.entry, program.checked_rows
        row, problem = find_wrong_arrival(*tables, routes.branches, routes.destinations)
        if row != NONE:
            raise ProgramError(f"row {row} {_ARRIVAL_PROBLEMS[problem]}")


def _find_legal(program: Program) -> np.ndarray:
    """int64[opcode, ROW_WIDTH, 2] the least legal value of each operand, and the end of its range."""
    _, counters, durations, plans, routes = program.sizes
    ends = _END.copy()
    ends[_DURATION], ends[_ROUTE], ends[_PLAN] = durations, routes, plans
    ends[_SERVERS], ends[_COUNTERS] = len(program.machine.server_slots), counters
    ends[_BYTES] = FLITS_MOST * program.machine.flit_bytes + 1
    return np.stack([_LEAST, ends], axis=1)[_KIND_AT]


def _check_plans(program: Program, first: int) -> None:
    """Check the plans from `first` on, all at once: collectives add a plan for each message."""
    op, plans = program.op, (program.plan_start, program.token_start, program.token_end)
    plan, problem = find_wrong_plan(op.values, op.entry, *plans, first)
    if plan != NONE:
        raise ProgramError(f"plan {plan} {_PROBLEMS[problem]}")
