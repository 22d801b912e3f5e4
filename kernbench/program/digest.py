"""Digest of a program, sixteen hexadecimal digits: programs with equal digests do the same on every machine.

Labels and notes (names of rows, and their computations) are left out, since they take no time. Durations in femtoseconds are
left out too, since they belong to the machine.
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
    """The digest of the flushed part of a program: its rows with their threads, its plans, the amounts in its durations."""
    found = hashlib.sha256(repr(program.durations).encode())
    op, routes = _own_routes(program.op[:])
    found.update(f"[{', '.join(_show(*program.machine.routing.key(route)) for route in routes)}]".encode())
    for table in (op, program.op_thread[:], program.plan_start, program.token_start, program.token_end):
        found.update(f"\n{table.shape}\n".encode())
        found.update(table.tobytes())
    return found.hexdigest()[:DIGITS]


@lru_cache(1 << 14, typed=True)
def _show(*key: object) -> str:
    """The text of a route's key; kept, since the texts of an enum's members take a microsecond each."""
    return repr(key)


def _own_routes(op: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The rows with routes numbered in the order in which the program first uses them, and those routes.

    The numbers of a machine depend on the programs that ran on it before.
    """
    moves = op[:, 0] == Op.MOVE
    routes, first, which = np.unique(op[moves, 1], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    own = op.copy()
    own[moves, 1] = rank[which]
    return own, routes[order].tolist()
