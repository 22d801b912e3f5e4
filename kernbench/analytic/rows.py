"""The rows of a program that will happen, in their order: those of threads, and the stages of plans that are piped.

A *token* is what queues as one thing and walks its rows one after the other: a tile token of a plan, or a single job of a
thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import expand_ranges
from kernbench.errors import InputError
from kernbench.program.check import check_rows
from kernbench.program.ops import NONE, Op
from kernels_jit.layout import codes

if TYPE_CHECKING:
    from kernbench.program.encoded_rows import EncodedRows
    from kernbench.program.program import Program


class Rows(NamedTuple):
    """All of them, by thread and within it in order."""

    op: EncodedRows  # int64[row, ROW_WIDTH]
    row: np.ndarray  # int64[place] of the op table
    thread: np.ndarray  # int64[place]
    blocker: np.ndarray  # int64[place] the latest row before it for which the thread waited, or NONE
    token_place: np.ndarray  # int64[token] the place that started it
    token_start: np.ndarray  # int64[token] first row
    token_end: np.ndarray  # int64[token]
    stage: np.ndarray  # int64[stage] rows of all tokens, token after token
    stage_token: np.ndarray  # int64[stage]
    jobs: np.ndarray  # int64[] the stages that are EXEC
    moves: np.ndarray  # int64[] the stages that are MOVE

    @property
    def kind(self) -> np.ndarray:
        """int64[place] opcodes."""
        return self.op[self.row, 0]


def list_rows(program: Program) -> Rows:
    """The rows of a program, flushed and checked. Errors: ProgramError; InputError if it is still to be written (ASK)."""
    program.flush()
    check_rows(program)
    op = program.op
    threads = program.op_thread[:]
    row = np.argsort(threads, kind="stable")
    row = row[np.searchsorted(threads[row], 0) :]
    kind, thread = op[row, 0], threads[row]
    if (kind == Op.ASK).any():
        raise InputError(
            "analytic mode has no events, so it cannot run kernels live; use mode hybrid, or record the kernels"
        )
    place = np.arange(len(row))
    blocking = np.where(np.isin(kind, codes.BLOCKING), place, NONE)
    before = np.concatenate([[NONE], np.maximum.accumulate(blocking)[:-1]]) if len(row) else blocking
    mine = (before != NONE) & (thread[before] == thread)
    token_place, token_start, token_end = _list_tokens(program, op, row)
    stage, stage_token = expand_ranges(token_start, token_end)
    stage_kind = op[stage, 0]
    return Rows(
        *(op, row, thread, np.where(mine, row[before], NONE)),
        *(token_place, token_start, token_end, stage, stage_token),
        *(stage[stage_kind == Op.EXEC], stage[stage_kind == Op.MOVE]),
    )


def _list_tokens(program: Program, op: EncodedRows, row: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kind = op[row, 0]
    jobs, pipes = np.flatnonzero((kind == Op.EXEC) | (kind == Op.MOVE)), np.flatnonzero(kind == Op.PIPE)
    plans, plan_start = op[row[pipes], 1], program.plan_start
    token, of = expand_ranges(plan_start[plans], plan_start[plans + 1])
    place = np.concatenate([jobs, pipes[of]])
    start = np.concatenate([row[jobs], program.token_start[token]])
    end = np.concatenate([row[jobs] + 1, program.token_end[token]])
    order = np.argsort(place, kind="stable")
    return place[order], start[order], end[order]
