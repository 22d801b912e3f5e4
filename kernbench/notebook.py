"""Tables for notebooks: small HTML that takes its colours from the page around it, so light and dark pages both do."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

MOST_ROWS = 20
_LINE = "1px solid color-mix(in srgb,currentColor 15%,transparent)"
_CELL = f"padding:2px 12px 2px 0;text-align:left;white-space:nowrap;border-bottom:{_LINE}"


def html_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], *notes: str) -> str:
    """A title, the first rows of a table, and notes below it; all are texts, not markup."""
    head = "".join(f'<th style="{_CELL}">{escape(heading)}</th>' for heading in headings)
    body = "".join(_row(row) for row in rows[:MOST_ROWS])
    more = (f"and {len(rows) - MOST_ROWS:,} more rows",) if len(rows) > MOST_ROWS else ()
    below = "".join(f'<div style="opacity:0.75">{escape(note)}</div>' for note in (*more, *notes))
    table = f'<table style="border-collapse:collapse;background:none"><tr>{head}</tr>{body}</table>' if headings else ""
    return f'<div style="color:inherit"><strong>{escape(title)}</strong>{table}{below}</div>'


def _row(cells: Sequence[str]) -> str:
    inside = "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in cells)
    return f"<tr>{inside}</tr>"
