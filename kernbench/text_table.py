"""The tables of all commands, as lines of text that fit a terminal.

A number is never cut nor broken, a word is never cut in two. Where a table is wider than the terminal, these follow each other:
headings are broken at their words; long texts are wrapped at blanks, and long names shortened in the columns that allow it;
the columns that matter least are left out, with a line that names them. If columns that may not be left out are still too
wide together, each row becomes a list of headings and values. Without a width, as in a pipe, nothing of this is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernbench.characters import show_controls, visible
from kernbench.text import count_cells, split_words, wrap

KEEP = 100  # the rank of a column that is never left out
DEAR = 10  # from this rank on columns stay as long as there is a blank at which any text can be wrapped
GAP = 2  # blanks between columns
BOLD, DIM = "bold", "dim"
SHORT = 20  # characters of a text that is only wrapped for columns that are dear
FEW_LINES = 2  # of a heading: texts below it are wrapped rather than that it has more
INDENT = "  "  # of a value below its heading
_PIECE = re.compile(r".+?(?:[._]|\s+|$)")  # of a heading, which may be broken after it
_STEP = re.compile(r".+?(?:[.:]|$)")  # of a name, which may be shortened by it
_DIRECTORY = re.compile(r".+?(?:/|$)")  # of a place in a file, which loses directories alone: the file's name is whole

StyledText = tuple[str, str]  # a text and its style, BOLD, DIM or ""
Line = list[StyledText]


@dataclass(frozen=True, slots=True)
class Field:
    """How a column is shown. Of several columns the lowest `rank` is left out first; `KEEP` never.

    A `form` is the format of figures, which are right-aligned; texts have none. `shortens`: names may lose their middle.
    """

    title: str
    form: str = ""
    rank: int = KEEP
    shortens: bool = False
    style: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of texts; see `Field`. What is right-aligned is never broken."""

    heading: str
    cells: Sequence[str]
    right: bool = False
    rank: int = KEEP
    shortens: bool = False
    style: str = ""

    def width(self) -> int:
        """Its width without breaks."""
        return max(map(count_cells, (self.heading, *self.cells)))

    def least_width(self, short: int) -> int:
        """Its least width, with all breaks but those of texts of at most `short` characters."""
        heading = max(count_cells(piece.strip()) for piece in _split(self.heading))
        return max(heading, *(self._least(cell, short) for cell in self._narrowest()), 0)

    def _least(self, cell: str, short: int) -> int:
        whole = count_cells(cell)
        return whole if self.right or self.shortens or whole <= short else max(map(count_cells, split_words(cell)))

    def _narrowest(self) -> Sequence[str]:
        return shorten_names(self.cells, 0) if self.shortens else self.cells

    def break_heading(self, width: int) -> list[str]:
        """The lines of the heading in a width."""
        if count_cells(self.heading) <= width:
            return [self.heading]
        lines = [""]
        for piece in _split(self.heading):
            longer = lines[-1] + piece
            if count_cells(longer.rstrip()) <= width:
                lines[-1] = longer
            else:
                lines.append(piece)
        return [line.rstrip() for line in lines if line]

    def width_of_lines(self, most: int) -> int:
        """The least width in which the heading has at most so many lines."""
        widths = range(count_cells(self.heading))
        return next((width for width in widths if len(self.break_heading(width)) <= most), len(widths))

    def break_cells(self, width: int) -> list[list[str]]:
        """The lines of each cell in a width."""
        if self.right:
            return [[cell] for cell in self.cells]
        if self.shortens:
            return [[cell] for cell in shorten_names(self.cells, width)]
        return [wrap(cell, width) for cell in self.cells]


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts with a title, if it has one; `whole` says where columns are that a narrow terminal lacks."""

    columns: Sequence[Column]
    title: str = ""
    whole: str = "in --json"

    def lay_out(self, width: int | None) -> list[Line]:
        """Its lines for a terminal of `width` characters, or for a pipe."""
        columns = [replace(column, heading=_clean(column.heading), cells=[*map(_clean, column.cells)])
                   for column in self.columns]  # fmt: skip
        lines: list[Line] = [[(text, BOLD)] for text in wrap(self.title, width)] if self.title else []
        kept = list(range(len(columns)))
        while True:
            least = min(kept, key=lambda i: (columns[i].rank, -i))
            short = SHORT if columns[least].rank < DEAR else 0
            widths = _fit([columns[i] for i in kept], width, short)
            if widths is not None or columns[least].rank == KEEP or len(kept) == 1:
                break
            kept.remove(least)
        shown = [columns[i] for i in kept]
        lines += _draw_list(shown, width or 0) if widths is None else _draw(shown, widths)
        if gone := [column.heading for i, column in enumerate(columns) if i not in kept]:
            told = f"left out, for lack of room: {', '.join(gone)}; {'it is' if len(gone) == 1 else 'they are'} {self.whole}"
            lines += [[(text, DIM)] for text in wrap(told, width)]
        return lines


def figures_table(
    rows: Iterable[Mapping[str, Any]], fields: Mapping[str, Field], title: str = "", whole: str = "in --json"
) -> TextTable:
    """Rows as a table; `fields` says how each field that is shown is."""
    rows = list(rows)
    columns = [
        Column(
            field.title,
            ["" if row[name] is None else format(row[name], field.form) for row in rows],
            bool(field.form),
            field.rank,
            field.shortens,
            field.style,
        )
        for name, field in fields.items()
    ]
    return TextTable(columns, title, whole)


def list_table(lines: Sequence[tuple[str, str, str]]) -> TextTable:
    """Figures one below the other: a label, a figure, a remark."""
    labels, figures, remarks = zip(*lines, strict=True)
    return TextTable([Column("", labels, style=BOLD), Column("", figures, right=True), Column("", remarks, style=DIM)])


def shorten_names(names: Sequence[str], width: int) -> list[str]:
    """Names without parts of their middle, "…" instead, so that they fit `width` if that is possible.

    Only whole parts go, and as few as possible: of a path its directories, of another name what is between dots and
    colons. Different names stay different, and otherwise all stay as they are.
    """
    distinct = list(dict.fromkeys(names))
    for room in range(width, max((*map(count_cells, distinct), 0)) + 1):
        shortened = [_shorten(name, room) for name in distinct]
        if len(set(shortened)) == len(distinct) and all(count_cells(name) <= room for name in shortened):
            found = dict(zip(distinct, shortened, strict=True))
            return [found[name] for name in names]
    return list(names)


def _shorten(name: str, width: int) -> str:
    """The longest text of whole parts that begins and ends as the name does and fits, or the name if it has no middle."""
    if count_cells(name) <= width:
        return name
    steps = (_DIRECTORY if "/" in name else _STEP).findall(name)
    ways = [
        f"{''.join(steps[:head])}…{''.join(steps[len(steps) - tail :])}"
        for head in range(1, len(steps) - 1)
        for tail in range(1, len(steps) - head)
    ]
    fitting = [way for way in ways if count_cells(way) <= width]
    return max(fitting, key=count_cells, default=name)


def _clean(text: str) -> str:
    """A text on one line that cannot steer a terminal."""
    return show_controls(visible(text))


def _split(heading: str) -> list[str]:
    return _PIECE.findall(heading) or [""]


def _fit(columns: Sequence[Column], width: int | None, short: int) -> list[int] | None:
    """The widths of columns beside each other; None if they do not fit."""
    whole = [column.width() for column in columns]
    if width is None:
        return whole
    room = width - GAP * (len(columns) - 1)
    if sum(whole) <= room:
        return whole
    widths = [column.least_width(short) for column in columns]
    if sum(widths) > room:
        return None
    _widen(widths, [max(map(count_cells, column.heading.split()), default=0) for column in columns], room)
    _widen(widths, [column.width_of_lines(FEW_LINES) for column in columns], room)
    _widen(widths, [max(map(count_cells, column.cells), default=0) for column in columns], room)
    _widen(widths, whole, room)
    return widths


def _widen(widths: list[int], wanted: Sequence[int], room: int) -> None:
    """Share what is left of the room among the columns that want more."""
    while needy := [i for i, width in enumerate(widths) if width < wanted[i]]:
        spare = room - sum(widths)
        if not spare:
            return
        for i in needy[:spare]:
            widths[i] += max(1, min(spare // len(needy), wanted[i] - widths[i]))


def _draw(columns: Sequence[Column], widths: Sequence[int]) -> list[Line]:
    lines: list[Line] = []
    if any(column.heading for column in columns):
        headings = [column.break_heading(width) for column, width in zip(columns, widths, strict=True)]
        deepest = max(map(len, headings))
        bottom = [[""] * (deepest - len(heading)) + heading for heading in headings]
        lines += _beside(columns, widths, bottom, BOLD)
    broken = [column.break_cells(width) for column, width in zip(columns, widths, strict=True)]
    for cells in zip(*broken, strict=True):
        lines += _beside(columns, widths, cells, None)
    return lines


def _beside(
    columns: Sequence[Column], widths: Sequence[int], cells: Sequence[list[str]], style: str | None
) -> list[Line]:
    """The lines of the cells of one row; the last text has no blanks behind it."""
    lines: list[Line] = []
    for i in range(max(map(len, cells))):
        line, blanks = [], 0
        for column, width, texts in zip(columns, widths, cells, strict=True):
            text = texts[i] if i < len(texts) else ""
            free = width - count_cells(text)
            before = blanks + (free if column.right else 0)
            if text:
                line += [(" " * before, ""), (text, column.style if style is None else style)]
                blanks = GAP + (0 if column.right else free)
            else:
                blanks += width + GAP
        lines.append(line)
    return lines


def _draw_list(columns: Sequence[Column], width: int) -> list[Line]:
    """Each row as a list of its headings and values, a blank line between rows."""
    lines: list[Line] = []
    for row in zip(*(column.cells for column in columns), strict=True):
        lines += [[]] if lines else []
        for column, cell in zip(columns, row, strict=True):
            if not cell:
                continue
            if count_cells(f"{column.heading}{INDENT}{cell}") <= width:
                line = [(column.heading, BOLD), (INDENT, "")] if column.heading else []
                lines.append([*line, (cell, column.style)])
                continue
            lines += [[(text, BOLD)] for text in wrap(column.heading, width)] if column.heading else []
            texts = [cell] if column.right else wrap(cell, width - len(INDENT))
            lines += [[(INDENT, ""), (text, column.style)] for text in texts]
    return lines
