"""What a program is, in sixteen digits: two programs with one digest do the same, on whatever machine.

Labels and notes say what rows are called and what they compute, not what they do in time, and are left out; so are
durations in femtoseconds, which are the machine's.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernbench.program.program import Program

DIGITS = 16


def digest(program: Program) -> str:
    """The digest of what has been flushed of a program: its rows with their threads, its plans, its amounts."""
    found = hashlib.sha256(repr(program.durations).encode())
    tables = (program.op, program.op_thread, program.plan_start, program.token_start, program.token_end)
    for table in tables:
        found.update(f"\n{table.shape}\n".encode())
        found.update(table.tobytes())
    return found.hexdigest()[:DIGITS]
