"""The tables of a device program, which the engine copies into its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from kernbench.program.encoded_rows import EncodedRows


class ProgramTables(NamedTuple):
    """The flushed part of a program."""

    op: EncodedRows  # int64[row, ROW_WIDTH] thread rows and stage rows
    plan_start: np.ndarray  # int64[plan + 1] first token of a plan
    token_start: np.ndarray  # int64[token] first stage row of a token; the rows of a plan are contiguous
    token_end: np.ndarray  # int64[token]
    duration_fs: np.ndarray  # int64[duration]; duration 0 is zero


class Totals(NamedTuple):
    """Sums over the flushed rows of a program."""

    rows: int  # that they are of
    jobs: np.ndarray  # int64[duration] the number of jobs that take it
    moved_bytes: np.ndarray  # int64[tag] of transfers
