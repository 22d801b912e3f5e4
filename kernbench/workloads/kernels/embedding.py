"""Looking up the rows of tokens in a table, and picking the last token of each sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import CUBES, PES, own_rows
from kernbench.workloads.kernels.norm import Pieces
from kernbench.workloads.kernels.panels import Panel

GROUP = 32  # tokens that a PE looks up and turns into columns at a time


def embed(
    table_ptr: int,
    places_ptr: int,
    identity_ptr: int,
    y_ptr: int,
    ids: Sequence[int],
    place: int,
    d: int,
    scale: float,
    dtype: str,
    tl: Any,
) -> None:
    """y (d, tokens) = rows `ids` of a table (vocabulary, d) times a scale, plus one of a table of positions, over PEs."""
    first, end = own_rows(tl, d)
    if first >= end:
        return
    size, tokens, width = itemsize(dtype), len(ids), end - first
    y: Any = None
    for column, token in enumerate(ids):
        row = tl.load(table_ptr + (token * d + first) * size, (1, width), dtype)
        if tokens == 1:
            y = tl.trans(row)
            continue
        pick = tl.load(identity_ptr + column * tokens * size, (1, tokens), dtype)
        before, y = y, tl.dot(tl.trans(row), pick, y)
        if before is not None:
            tl.release(before)
    if scale != 1:
        y = y * scale
    if places_ptr:
        y = y + tl.load(places_ptr + (place * d + first) * size, (width, 1), dtype)
    tl.store(y_ptr + first * tokens * size, y)


def gather(
    tables: tuple[int, ...],
    rows_ptr: int,
    columns_ptr: int,
    panels: Sequence[tuple[int, int]],
    ids: tuple[Sequence[int], ...],
    d: int,
    scale: float,
    dtype: str,
    tl: Any,
) -> None:
    """Groups of tokens as panels of their own: sums of rows `ids` of tables (…, d) times a scale, over PEs.

    A table's `ids` has a row for each token. Rows are brought together in `rows`, (tokens, d), and turned into `columns`.
    """
    size, pes = itemsize(dtype), tl.num_programs(PES)
    own, count = tl.program_id(CUBES) * pes + tl.program_id(PES), pes * tl.num_programs(CUBES)
    groups = [group for panel in panels for group in _cut(panel)]
    for first, width in groups[own::count]:
        for token in range(first, first + width):
            row: Any = None
            for table_ptr, each in zip(tables, ids, strict=True):
                found = tl.load(table_ptr + each[token] * d * size, (1, d), dtype)
                before, row = row, found if row is None else row + found
                if before is not None:
                    tl.release(before)
            if scale != 1:
                before, row = row, row * scale
                tl.release(before)
            tl.store(rows_ptr + token * d * size, row)
            tl.release(row)
        tl.store(columns_ptr + first * d * size, tl.trans(tl.load(rows_ptr + first * d * size, (width, d), dtype)))


def arrange(columns_ptr: int, picks: tuple[int, ...], y_ptr: int, pieces: tuple[Any, ...], tl: Any) -> None:
    """Panels of groups become panels of y; `picks` has for each panel an identity matrix of its width, in each cube."""
    p = Pieces(*pieces)
    size = itemsize(p.dtype)
    for panel, _, rows in p.list_own(tl):
        pick_ptr = picks[p.panels.index(tuple(panel))]
        for first, end in p.cut(panel, rows):
            y: Any = None
            for group in _cut(panel):
                x = tl.load(columns_ptr + group.at(p.features, first) * size, (end - first, group.width), p.dtype)
                if group == panel:
                    y = x
                    break
                at = (group.first - panel.first) * panel.width * size
                before, y = y, tl.dot(x, tl.load(pick_ptr + at, (group.width, panel.width), p.dtype), y)
                if before is not None:
                    tl.release(before)
            tl.store(y_ptr + panel.at(p.features, first) * size, y)
            tl.release(y)


def _cut(panel: tuple[int, int]) -> Iterator[Panel]:
    """The groups of a panel."""
    first, width = panel
    for at in range(0, width, GROUP):
        yield Panel(first + at, min(GROUP, width - at))


def pick(
    x_ptr: int,
    panels: tuple[tuple[int, int], ...],
    matrices: tuple[int, ...],
    y_ptr: int,
    d: int,
    chosen: int,
    dtype: str,
    tl: Any,
) -> None:
    """y (d, chosen) = chosen tokens of x in panels; each PE has rows of y.

    `panels` have chosen tokens, each a matrix (width, chosen) in each cube, of ones where a token is a column of y.
    """
    first, end = own_rows(tl, d)
    if first >= end:
        return
    size = itemsize(dtype)
    y: Any = None
    for (begin, width), matrix_ptr in zip(panels, matrices, strict=True):
        x = tl.load(x_ptr + Panel(begin, width).at(d, first) * size, (end - first, width), dtype)
        before, y = y, tl.dot(x, tl.load(matrix_ptr, (width, chosen), dtype), y)
        if before is not None:
            tl.release(before)
    tl.store(y_ptr + first * chosen * size, y)
