"""Plan templates: plans that differ only in a few numbers, as one template and the numbers of each plan.

PEs that share an operation have plans with the same tokens and stages, which differ in servers, in routes and in the places of
operands. Such plans are instantiated together, as arrays, instead of one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernbench.program.ops import NONE, ROW_WIDTH


def placeholder(at: int) -> int:
    """The value in a template's rows that stands for number `at` of each plan's own numbers."""
    return NONE - 1 - at


class Placeholders(NamedTuple):
    """The positions in a template's rows that take numbers of the plan."""

    stage: np.ndarray  # int64[placeholder]
    column: np.ndarray  # int64[placeholder]
    at: np.ndarray  # int64[placeholder] the index of the number

    @classmethod
    def of(cls, rows: np.ndarray) -> Placeholders:
        """The placeholders in rows, int64[stage, ROW_WIDTH]."""
        stage, column = np.nonzero(rows < NONE)
        return cls(stage, column, NONE - 1 - rows[stage, column])


class Stripes(NamedTuple):
    """The transfers whose memory channel follows from the place of an operand."""

    stage: np.ndarray  # int64[transfer]
    start_bytes: np.ndarray  # int64[transfer] from the operand's offset in its memory
    offset: (
        np.ndarray
    )  # int64[transfer] the index of that offset in a plan's numbers; the next number is the memory's channels
    burst_bytes: int  # consecutive bytes on one channel


class PlanTemplate(NamedTuple):
    """The common part of plans."""

    rows: np.ndarray  # int64[stage, ROW_WIDTH], with placeholders
    token_start: np.ndarray  # int64[token + 1] into the rows
    tags: np.ndarray  # int32[stage]
    placeholders: Placeholders
    stripes: Stripes

    def fill(self, numbers: np.ndarray) -> np.ndarray:
        """int64[plan, stage, ROW_WIDTH] the rows of plans with these numbers, int64[plan, number]."""
        rows = np.repeat(self.rows[None], len(numbers), axis=0)
        stage, column, at = self.placeholders
        rows[:, stage, column] = numbers[:, at]
        stage, start_bytes, offset, burst_bytes = self.stripes
        rows[:, stage, 3] = (numbers[:, offset] + start_bytes) // burst_bytes % numbers[:, offset + 1]
        return rows


def instantiate(
    plans: Sequence[tuple[PlanTemplate, tuple[int, ...]]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The tables of plans, each given as a template and its numbers, one after the other.

    Returns int64[stage, ROW_WIDTH] rows, int32[stage] tags, int64[token + 1] offsets into the rows, and int64[plan + 1]
    offsets into the tokens.
    """
    templates = list({id(template): template for template, _ in plans}.values())
    number = {id(template): i for i, template in enumerate(templates)}
    which = np.array([number[id(template)] for template, _ in plans])
    stages, tokens = (np.array(sizes)[which] for sizes in zip(*map(_sizes, templates), strict=True))
    stage_start, plan_start = (np.concatenate([[0], np.cumsum(sizes)]) for sizes in (stages, tokens))
    rows = np.empty((stage_start[-1], ROW_WIDTH), np.int64)
    tags, token_start = np.empty(len(rows), np.int32), np.empty(plan_start[-1] + 1, np.int64)
    token_start[-1] = len(rows)
    for i, template in enumerate(templates):
        members = np.flatnonzero(which == i)
        numbers = np.array([plans[member][1] for member in members.tolist()], np.int64)
        first = stage_start[members, None]
        at = first + np.arange(len(template.rows))
        rows[at], tags[at] = template.fill(numbers), template.tags
        token_start[plan_start[members, None] + np.arange(len(template.token_start) - 1)] = (
            first + template.token_start[:-1]
        )
    return rows, tags, token_start, plan_start


def _sizes(template: PlanTemplate) -> tuple[int, int]:
    """The numbers of stages and tokens."""
    return len(template.rows), len(template.token_start) - 1
