"""Checks of a device program: each operand against its range, which follows from the table `ops.OPERANDS`.

An id out of range would corrupt a run silently, so rows of all front-ends are checked. A program is checked as it grows, each
row and each plan once.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import FLITS_MOST, NONE, OPERANDS, ROW_WIDTH, STAGE_OPS, Op
from kernels_jit.simulate.op_rows import find_illegal

if TYPE_CHECKING:
    from kernbench.program.program import Program

_LARGEST = 1 << 60  # of times, sizes and amounts

_KINDS = sorted({operand for operands in OPERANDS.values() for operand in operands})
_NAMES = [kind.rstrip("?") for kind in _KINDS]
_WIDEST = np.iinfo(np.int64)
_LEAST = np.array(
    [NONE if kind.endswith("?") else -_LARGEST if kind == "amount" else 0 for kind in _KINDS] + [_WIDEST.min], np.int64
)
_END = np.array([2 if kind == "compare" else _LARGEST for kind in _KINDS] + [_WIDEST.max], np.int64)
_DURATION, _ROUTE, _PLAN, _BYTES = (_KINDS.index(kind) for kind in ("duration", "route", "plan", "bytes"))
_SERVER, _ANY_SERVER, _COUNTER, _ANY_COUNTER = (
    _KINDS.index(kind) for kind in ("server", "server?", "counter", "counter?")
)
_KIND_AT = np.full((len(Op), ROW_WIDTH), len(_KINDS), np.int64)  # the last kind: no operand, so any value is legal
for _op, _operands in OPERANDS.items():
    _KIND_AT[_op, 1 : 1 + len(_operands)] = [_KINDS.index(operand) for operand in _operands]


class ProgramError(ValueError):
    """A program has an illegal row or plan; the message names the row, the operand and its range."""


def check_rows(program: Program, first: int = 0) -> None:
    """Check the flushed rows from `first` on, and the plans with stages among them, except those checked before.

    Errors: ProgramError.
    """
    first = max(first, program.checked_rows)
    if (sizes := program.sizes) != program.checked_sizes:  # seldom: a live kernel adds few rows at a time
        program.checked_sizes, program.legal = sizes, _find_legal(program)
    op, legal = program.op, program.legal
    row, column = find_illegal(op, first, legal)
    if row != NONE:
        kind, value = op[row, 0], op[row, column]
        if column == 0:
            raise ProgramError(f"row {row} has opcode {kind}; known: 0 to {len(Op) - 1}")
        name, (least, end) = _NAMES[int(_KIND_AT[kind, column])], legal[kind, column]
        raise ProgramError(f"row {row} ({Op(kind).name}): {name} is {value}; it must be in [{least}, {end})")
    if program.plan_rows and program.plan_rows[-1] >= first:
        _check_plans(program, bisect_left(program.plan_rows, first))
    program.checked_rows = len(op)


def _find_legal(program: Program) -> np.ndarray:
    """int64[opcode, ROW_WIDTH, 2] the least legal value of each operand, and the end of its range."""
    _, counters, durations, plans, routes = program.sizes
    ends = _END.copy()
    ends[_DURATION], ends[_ROUTE], ends[_PLAN] = durations, routes, plans
    ends[_SERVER] = ends[_ANY_SERVER] = len(program.machine.server_slots)
    ends[_COUNTER] = ends[_ANY_COUNTER] = counters
    ends[_BYTES] = FLITS_MOST * program.machine.flit_bytes + 1
    return np.stack([_LEAST, ends], axis=1)[_KIND_AT]


def _check_plans(program: Program, first: int) -> None:
    """Check the plans from `first` on, all at once: collectives add a plan for each message."""
    plan_start = program.plan_start[first:]
    tokens = slice(plan_start[0], plan_start[-1])
    start, end = program.token_start[tokens], program.token_end[tokens]
    plan_of = np.repeat(np.arange(first, first + len(plan_start) - 1), np.diff(plan_start))  # by token
    _refuse(
        np.diff(plan_start) == 0, np.arange(first, first + len(plan_start) - 1), "has no tokens; do not pipe nothing"
    )
    _refuse(end <= start, plan_of, "has a token without stages")
    stages = end - start
    rows = program.op[np.repeat(start - np.cumsum(stages) + stages, stages) + np.arange(stages.sum())]
    plan_of_row = np.repeat(plan_of, stages)
    _refuse(~np.isin(rows[:, 0], STAGE_OPS), plan_of_row, "has a stage that is neither EXEC nor MOVE")
    counters = np.where(rows[:, 0] == Op.EXEC, rows[:, 3], np.maximum(rows[:, 4], rows[:, 6]))
    _refuse(counters != NONE, plan_of_row, "has a stage with a counter; tokens count by their plan")
    heads = program.op[start]
    servers = np.where(heads[:, 0] == Op.EXEC, heads[:, 1], heads[:, 5])
    first_of_plan = np.repeat(plan_start[:-1] - plan_start[0], np.diff(plan_start))
    apart = (servers != servers[first_of_plan]) | (servers == NONE)
    _refuse(apart, plan_of, "has tokens that do not all begin on one server")


def _refuse(wrong: np.ndarray, plan: np.ndarray, problem: str) -> None:
    """Errors: ProgramError for the first of bool[n] that is wrong, naming its plan, of int64[n]."""
    if wrong.any():
        raise ProgramError(f"plan {plan[np.argmax(wrong)]} {problem}")
