"""Plan templates: plans that differ only in a few numbers, as one template and the numbers of each plan.

PEs that share an operation have plans with the same tokens and stages, which differ in servers, in routes and in the places of
operands. Such plans are instantiated together, as arrays, instead of one by one. The stages of a plan repeat few rows: it has
an entry of the op table for each of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.program.op_table import OpTable
from kernbench.program.ops import NONE

if TYPE_CHECKING:
    from kernbench.program.encoded_rows import EncodedRows


def placeholder(at: int) -> int:
    """The value in a template's rows for number `at` of each plan's own numbers."""
    return NONE - 1 - at


class Stripes(NamedTuple):
    """The transfers whose memory channel follows from the place of an operand."""

    places: (
        np.ndarray
    )  # int64[transfer, 3] stage; bytes from the operand's offset in its memory; the index of that offset in
    # a plan's numbers, in which the memory's channels are next
    burst_bytes: int  # consecutive bytes on one channel


class PlanTemplate(NamedTuple):
    """The common part of plans."""

    rows: np.ndarray  # int64[kind, ROW_WIDTH] distinct rows, with placeholders
    tags: np.ndarray  # int32[kind]
    offset: np.ndarray  # int64[kind] where a plan's numbers have the operand's offset; NONE without stripes
    kind: np.ndarray  # int32[stage] in the order of the tokens
    place_bytes: np.ndarray  # int64[stage] from the operand's offset
    token_start: np.ndarray  # int64[token + 1] into the stages
    burst_bytes: int

    @classmethod
    def of(cls, rows: np.ndarray, token_start: np.ndarray, tags: np.ndarray, stripes: Stripes) -> PlanTemplate:
        """The template of int64[stage, ROW_WIDTH] rows, int64[token + 1] offsets into them, and int32[stage] tags."""
        offset, place_bytes = np.full(len(rows), NONE), np.zeros(len(rows), np.int64)
        stage, place_bytes[stage], offset[stage] = stripes.places.T
        kinds = unique_rows(np.column_stack([rows, tags, offset]))
        width = rows.shape[1]
        return cls(
            np.ascontiguousarray(kinds.rows[:, :width]),
            kinds.rows[:, width].astype(np.int32),
            kinds.rows[:, width + 1].copy(),
            kinds.which.astype(np.int32),
            place_bytes,
            token_start,
            stripes.burst_bytes,
        )

    @property
    def stage_tags(self) -> np.ndarray:
        """int32[stage]"""
        return self.tags[self.kind]

    def write(self, numbers: np.ndarray, starts: np.ndarray, table: OpTable) -> None:
        """Write the rows of plans with these numbers, int64[plan, number], each from its own row on, int64[plan]."""
        from kernels_jit.loop.op_append import fill_plans

        striped = self.offset != NONE
        channels = numbers[:, self.offset[striped] + 1]
        kinds = channels.sum(axis=1) + np.count_nonzero(~striped)
        first = table.extend_entries(int(np.minimum(kinds, len(self.kind)).sum()))
        plans = numbers, starts, np.empty((len(self.rows), channels.max(initial=1)), np.int64)
        table.drop_entries(fill_plans(*self[:5], self.burst_bytes, *plans, first, *table.columns))

    def fill(self, numbers: np.ndarray) -> EncodedRows:
        """int64[stage, ROW_WIDTH] the rows of one plan, int64[number]."""
        table = OpTable()
        table.extend(len(self.kind))
        self.write(numbers[None], np.zeros(1, np.int64), table)
        return table.op


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
        template.write(numbers, starts, table)
        at = plan_start[members, None] + np.arange(len(template.token_start) - 1)
        token_start[at] = starts[:, None] + template.token_start[:-1]
    return token_start, plan_start


def _sizes(template: PlanTemplate) -> tuple[int, int]:
    """The numbers of stages and tokens."""
    return len(template.kind), len(template.token_start) - 1
