"""What a legal device program is. One table (`ops.OPERANDS`) says what each operand names; here it is held.

Front-ends are trusted to mean what they say, not to say it right: an id out of range would corrupt a run silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import NONE, OPERANDS, STAGE_OPS, Op

if TYPE_CHECKING:
    from kernbench.program.program import Program

_LARGEST_TIME = 1 << 60


class ProgramError(ValueError):
    """A front-end built a program that cannot mean anything; names the row, the operand and the range."""


def check_rows(program: Program, first: int = 0) -> None:
    """Check the flushed rows from `first` on, and the plans whose rows are among them. Errors: ProgramError."""
    op = program.op[first:]
    ranges = {
        "duration": (0, len(program.durations)),
        "server": (0, len(program.machine.server_slots)),
        "counter": (0, len(program.counter_labels)),
        "route": (0, len(program.machine.routing.tables().start) - 1),
        "plan": (0, len(program.plan_notes)),
        "bytes": (0, _LARGEST_TIME),
        "stripe": (0, _LARGEST_TIME),
        "time": (0, _LARGEST_TIME),
        "compare": (0, 2),
        "amount": (-_LARGEST_TIME, _LARGEST_TIME),
    }
    kinds = op[:, 0]
    for bad in np.flatnonzero((kinds < 0) | (kinds >= len(Op))):
        raise ProgramError(f"row {first + bad} has opcode {kinds[bad]}; known: 0 to {len(Op) - 1}")
    for kind in Op:
        rows = np.flatnonzero(kinds == kind)
        if len(rows):
            for column, operand in enumerate(OPERANDS[kind], 1):
                low, high = ranges[operand.rstrip("?")]
                _check_operand(op, rows, column, NONE if operand.endswith("?") else low, high, first, kind, operand)
    _check_plans(program, first)


def _check_operand(
    op: np.ndarray, rows: np.ndarray, column: int, low: int, high: int, first: int, kind: Op, operand: str
) -> None:
    values = op[rows, column]
    wrong = (values < low) | (values >= high)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ProgramError(
            f"row {first + rows[at]} ({kind.name}): {operand.rstrip('?')} is {values[at]}; it must be in [{low}, {high})"
        )


def _check_plans(program: Program, first: int) -> None:
    token_start, token_end, plan_start = program.token_start, program.token_end, program.plan_start
    for plan in range(len(plan_start) - 1):
        a, b = plan_start[plan], plan_start[plan + 1]
        if a == b:
            raise ProgramError(f"plan {plan} has no tokens; do not pipe nothing")
        if token_start[a] < first:
            continue
        if (token_end[a:b] <= token_start[a:b]).any():
            raise ProgramError(f"plan {plan} has a token without stages")
        rows = program.op[token_start[a] : token_end[b - 1]]
        if not np.isin(rows[:, 0], STAGE_OPS).all():
            raise ProgramError(f"plan {plan} has a stage that is neither EXEC nor MOVE")
        if (np.where(rows[:, 0] == Op.EXEC, rows[:, 3], np.maximum(rows[:, 4], rows[:, 6])) != NONE).any():
            raise ProgramError(f"plan {plan} has a stage with a counter; tokens count by their plan")
        heads = program.op[token_start[a:b]]
        servers = np.where(heads[:, 0] == Op.EXEC, heads[:, 1], heads[:, 5])
        if (servers != servers[0]).any() or servers[0] == NONE:
            raise ProgramError(f"plan {plan} has tokens that do not all begin on one server")
