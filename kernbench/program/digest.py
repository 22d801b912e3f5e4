"""Digest of a program in sixteen digits: two programs with one digest do the same, on whatever machine.

Labels and notes say what rows are called and what they compute, not what they do in time, and are left out; so are
durations in femtoseconds, which are the machine's.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import Op

if TYPE_CHECKING:
    from kernbench.program.program import Program

DIGITS = 16


def digest(program: Program) -> str:
    """The digest of what has been flushed of a program: its rows with their threads, its plans, its amounts."""
    found = hashlib.sha256(repr(program.durations).encode())
    op, routes = _own_routes(program.op)
    found.update(f"[{', '.join(_show(*program.machine.routing.key(route)) for route in routes)}]".encode())
    for table in (op, program.op_thread, program.plan_start, program.token_start, program.token_end):
        found.update(f"\n{table.shape}\n".encode())
        found.update(table.tobytes())
    return found.hexdigest()[:DIGITS]


@lru_cache(1 << 14, typed=True)
def _show(*key: int) -> str:
    """A route's key in words: those of an enum's members take a microsecond each."""
    return repr(key)


def _own_routes(op: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Rows whose routes are numbered as the program names them first, and those routes.

    A machine numbers routes as they are asked for, by whatever ran on it before.
    """
    moves = op[:, 0] == Op.MOVE
    routes, first, which = np.unique(op[moves, 1], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    own = op.copy()
    own[moves, 1] = rank[which]
    return own, routes[order].tolist()
