"""Plans of random programs, written as templates write them: equal rows share an entry of the op table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernbench.program.ops import ROW_WIDTH
from kernbench.program.plan_template import PlanTemplate, Stripes
from kernbench.program.program import Program

_NO_STRIPES = Stripes(np.zeros((0, 3), np.int64), 1)


def add_plan(program: Program, tokens: Sequence[Sequence[tuple[int, ...]]]) -> int:
    """A plan of these tokens, each a sequence of rows."""
    rows = np.array([row for token in tokens for row in token], np.int64).reshape(-1, ROW_WIDTH)
    starts, tags = np.cumsum([0, *map(len, tokens)]), np.zeros(len(rows), np.int32)
    return program.plan_from(PlanTemplate.of(rows, starts, tags, _NO_STRIPES), (0,), {})
