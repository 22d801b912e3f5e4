"""Tables for notebooks: small HTML that takes its colours from the page around it, so light and dark pages both do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

MOST_ROWS = 20
_LINE = "1px solid color-mix(in srgb,currentColor 15%,transparent)"
_TABLE = "border-collapse:collapse;background:none;color:inherit;font-size:inherit"
_CELL = f"padding:2px 12px 2px 0;white-space:nowrap;border-bottom:{_LINE}"
_NUMBER = re.compile(r"[≥≤ +-]*[\d.,]+%?")


def html_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], *notes: str) -> str:
    """A title, the first rows of a table, and notes; all are texts, not markup. Columns of numbers are right-aligned."""
    shown = rows[:MOST_ROWS]
    aligned = ["right" if all(map(_is_number, column)) else "left" for column in zip(*shown, strict=True)]
    aligned = aligned or ["left"] * len(headings)
    body = "".join(_row("td", row, aligned) for row in shown)
    table = f'<table style="{_TABLE}">{_row("th", headings, aligned)}{body}</table>' if headings else ""
    more = (f"and {len(rows) - MOST_ROWS:,} more rows",) if len(rows) > MOST_ROWS else ()
    below = "".join(f'<div style="opacity:0.75">{escape(note)}</div>' for note in (*more, *notes))
    return f'<div style="margin:4px 0 8px"><strong>{escape(title)}</strong>{table}{below}</div>'


def _row(tag: str, cells: Sequence[str], aligned: Sequence[str]) -> str:
    inside = (
        f'<{tag} style="{_CELL};text-align:{side}">{escape(cell)}</{tag}>'
        for cell, side in zip(cells, aligned, strict=True)
    )
    return f"<tr>{''.join(inside)}</tr>"


def _is_number(cell: str) -> bool:
    return not cell or _NUMBER.fullmatch(cell) is not None
