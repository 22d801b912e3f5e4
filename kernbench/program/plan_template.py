"""Plan templates: plans that differ only in a few numbers, as one template and the numbers of each plan.

PEs that share an operation have plans with the same tokens and stages, which differ in servers, in routes and in the places of
operands. Such plans are instantiated together, as arrays, instead of one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.program.ops import NONE

if TYPE_CHECKING:
    from kernbench.program.op_table import OpTable


def placeholder(at: int) -> int:
    """The value in a template's rows that stands for number `at` of each plan's own numbers."""
    return NONE - 1 - at


def find_placeholders(rows: np.ndarray) -> np.ndarray:
    """int64[placeholder, 3] stage, column and the index of the number that goes there, in rows, int64[stage, ROW_WIDTH]."""
    stage, column = np.nonzero(rows < NONE)
    return np.stack([stage, column, NONE - 1 - rows[stage, column]], axis=1)


class Stripes(NamedTuple):
    """The transfers whose memory channel follows from the place of an operand."""

    places: (
        np.ndarray
    )  # int64[transfer, 3] stage; bytes from the operand's offset in its memory; the index of that offset in
    # a plan's numbers, in which the memory's channels are next
    burst_bytes: int  # consecutive bytes on one channel


class PlanTemplate(NamedTuple):
    """The common part of plans."""

    rows: np.ndarray  # int64[stage, ROW_WIDTH], with placeholders
    token_start: np.ndarray  # int64[token + 1] into the rows
    tags: np.ndarray  # int32[stage]
    placeholders: np.ndarray  # of `find_placeholders`
    stripes: Stripes

    def write(
        self, numbers: np.ndarray, starts: np.ndarray, columns: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        """Write the rows of plans with these numbers, int64[plan, number], each from its own row on, int64[plan].

        `columns`: int64[row, ROW_WIDTH], int32[row] tags, int64[row] threads of an op table.
        """
        from kernels_jit.simulate.op_append import fill_plans

        places, burst_bytes = self.stripes
        fill_plans(self.rows, self.tags, self.placeholders, places, burst_bytes, numbers, starts, *columns)

    def fill(self, numbers: np.ndarray) -> np.ndarray:
        """int64[stage, ROW_WIDTH] the rows of one plan, int64[number]."""
        columns = np.empty_like(self.rows), np.empty_like(self.tags), np.empty(len(self.rows), np.int64)
        self.write(numbers[None], np.zeros(1, np.int64), columns)
        return columns[0]


def instantiate(plans: Sequence[tuple[PlanTemplate, tuple[int, ...]]], table: OpTable) -> tuple[np.ndarray, np.ndarray]:
    """Append plans to an op table, each given as a template and its numbers, one after the other.

    Returns int64[token + 1] their first rows, and int64[plan + 1] offsets into the tokens.
    """
    templates = list({id(template): template for template, _ in plans}.values())
    number = {id(template): i for i, template in enumerate(templates)}
    which = np.array([number[id(template)] for template, _ in plans])
    stages, tokens = (np.array(sizes)[which] for sizes in zip(*map(_sizes, templates), strict=True))
    stage_start, plan_start = (np.concatenate([[0], np.cumsum(sizes)]) for sizes in (stages, tokens))
    stage_start += table.extend(int(stage_start[-1]))
    token_start = np.empty(plan_start[-1] + 1, np.int64)
    token_start[-1] = stage_start[-1]
    for i, template in enumerate(templates):
        members = np.flatnonzero(which == i)
        numbers = np.array([plans[member][1] for member in members.tolist()], np.int64)
        starts = stage_start[members]
        template.write(numbers, starts, (table.op, table.tags, table.owners))
        at = plan_start[members, None] + np.arange(len(template.token_start) - 1)
        token_start[at] = starts[:, None] + template.token_start[:-1]
    return token_start, plan_start


def _sizes(template: PlanTemplate) -> tuple[int, int]:
    """The numbers of stages and tokens."""
    return len(template.rows), len(template.token_start) - 1
