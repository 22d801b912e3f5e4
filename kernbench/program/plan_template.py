"""Plans that are alike but for a few numbers: their template once, and of each plan its own numbers.

PEs that share an operation have plans of the same tokens and stages, which differ in servers, in routes and in where the
operands lie. Such plans are spelled out together, whole arrays at a time, instead of one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernbench.program.ops import NONE, ROW_WIDTH


def placeholder(at: int) -> int:
    """What stands in a template's rows for number `at` of those that each plan has of its own."""
    return NONE - 1 - at


class Placeholders(NamedTuple):
    """The places of rows where a plan has a number of its own."""

    stage: np.ndarray  # int64[placeholder]
    column: np.ndarray  # int64[placeholder]
    at: np.ndarray  # int64[placeholder] which number

    @classmethod
    def of(cls, rows: np.ndarray) -> Placeholders:
        """Those of int64[stage, ROW_WIDTH] rows."""
        stage, column = np.nonzero(rows < NONE)
        return cls(stage, column, NONE - 1 - rows[stage, column])


class Stripes(NamedTuple):
    """The transfers whose memory channel hangs on where a plan's operands lie."""

    stage: np.ndarray  # int64[transfer]
    start_bytes: np.ndarray  # int64[transfer] from the operand's offset in its memory
    offset: np.ndarray  # int64[transfer] which of a plan's numbers is that offset; the next is the memory's channels
    burst_bytes: int  # that follow each other on a channel


class PlanTemplate(NamedTuple):
    """What plans have in common."""

    rows: np.ndarray  # int64[stage, ROW_WIDTH], with placeholders
    token_start: np.ndarray  # int64[token + 1] into the rows
    tags: np.ndarray  # int32[stage]
    placeholders: Placeholders
    stripes: Stripes

    def fill(self, own: np.ndarray) -> np.ndarray:
        """int64[plan, stage, ROW_WIDTH] rows of plans. `own`: int64[plan, number]."""
        rows = np.repeat(self.rows[None], len(own), axis=0)
        stage, column, at = self.placeholders
        rows[:, stage, column] = own[:, at]
        stage, start_bytes, offset, burst_bytes = self.stripes
        rows[:, stage, 3] = (own[:, offset] + start_bytes) // burst_bytes % own[:, offset + 1]
        return rows


def instantiate(
    plans: Sequence[tuple[PlanTemplate, tuple[int, ...]]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Plans, each a template with its own numbers, one after the other.

    int64[stage, ROW_WIDTH] rows, int32[stage] tags, int64[token + 1] offsets into them, int64[plan + 1] into the tokens.
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
        own = np.array([plans[member][1] for member in members.tolist()], np.int64)
        first = stage_start[members, None]
        at = first + np.arange(len(template.rows))
        rows[at], tags[at] = template.fill(own), template.tags
        token_start[plan_start[members, None] + np.arange(len(template.token_start) - 1)] = (
            first + template.token_start[:-1]
        )
    return rows, tags, token_start, plan_start


def _sizes(template: PlanTemplate) -> tuple[int, int]:
    """Stages and tokens."""
    return len(template.rows), len(template.token_start) - 1
