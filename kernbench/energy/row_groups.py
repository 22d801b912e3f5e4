"""Sums of energies over groups of rows, exactly: by operation, by line of a kernel's source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from kernbench.energy.row_energies import RowEnergies
    from kernbench.program.program import Program

_BITS = 30  # of a limb: a sum over 2**33 rows has room in int64


def sum_by_group(rows: RowEnergies, group: np.ndarray, groups: int) -> list[int]:
    """aJ of each group, of int64[row] the group of each row, NONE for none."""
    energies, entry = rows.energies_aj, rows.program.op.entry
    counted = np.flatnonzero(group != NONE)
    total, rest = [0] * groups, energies
    shift = 0
    while len(rest) and rest.any():
        limb = (rest & ((1 << _BITS) - 1)).astype(np.int64)
        found = np.zeros(groups, np.int64)
        np.add.at(found, group[counted], limb[entry[counted]])
        total = [had + (more << shift) for had, more in zip(total, found.tolist(), strict=True)]
        rest, shift = rest >> _BITS, shift + _BITS
    return total


def sum_by_operation(rows: RowEnergies) -> dict[tuple[str, str], int]:
    """aJ of each operation by its name and kind, the most first."""
    counts, found = rows.program.op.counts(), dict[tuple[str, str], int]()
    tags: list[int] = rows.program.op_tag.values.tolist()
    for tag, energy, count in zip(tags, rows.energies_aj.tolist(), counts.tolist(), strict=True):
        if energy and count:
            found[rows.program.tags[tag]] = found.get(rows.program.tags[tag], 0) + energy * count
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def sum_by_line(rows: RowEnergies) -> dict[tuple[str, int], int]:
    """aJ of each line of kernels, (file, line), the most first; ("", 0) for what no line issued."""
    program = rows.program
    total = sum_by_group(rows, line_of_row(program), len(program.sources))
    found = {place: energy for place, energy in zip(program.sources, total, strict=True) if energy}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def line_of_row(program: Program) -> np.ndarray:
    """int64[row] the number of the source line that issued a row; a stage belongs to the start of its plan."""
    found = np.zeros(program.row_count, np.int64)
    for thread in program.threads:
        begins, lines = (np.array(column, np.int64) for column in thread.sources)
        if not len(begins):
            continue
        for first, at, count in thread.chunks:
            line = np.searchsorted(begins, np.arange(first, first + count), side="right") - 1
            found[at : at + count] = np.where(line >= 0, lines[line], 0)
    return spread_over_stages(program, found)


def spread_over_stages(program: Program, of_row: np.ndarray) -> np.ndarray:
    """int64[row] in which the stages of each plan have the value of the row that starts it."""
    pipes = np.flatnonzero(program.op[:, 0] == Op.PIPE)
    of_plan = np.full(len(program.plan_rows), NONE)
    of_plan[program.op[pipes, 1]] = of_row[pipes]
    stages = np.flatnonzero(program.op_thread == NONE)
    first = np.searchsorted(stages, np.array(program.plan_rows, np.int64))  # of each plan; its stages follow each other
    of_row[stages] = np.repeat(of_plan, np.diff(first, append=len(stages)))
    return of_row
