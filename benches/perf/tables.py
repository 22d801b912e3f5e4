"""The findings of a run as tables: for the terminal beside the reference, and for the page that keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benches.perf.record import Record, find_fallen

MARK = "<!-- figures -->"  # around the tables of a page


def lay_out(run: Record, reference: Record) -> str:
    """The findings as text, each beside its reference."""
    fallen = find_fallen(run, reference)
    ratios = [("ratio (more is better)", "now", "reference", "target", "")] + [
        (
            name,
            _number(ratio["value"]),
            _value_of(reference.ratios, name),
            ratio["target"],
            f"fell by {1 - ratio['value'] / reference.ratios[name]['value']:.0%}" if name in fallen else "",
        )
        for name, ratio in run.ratios.items()
    ]
    figures = [("figure of this machine", "now", "reference", "target", "unit")] + [
        (name, _number(figure["value"]), _value_of(reference.figures, name), figure["target"], figure["unit"])
        for name, figure in run.figures.items()
    ]
    machines = [("machine", "now", "reference")] + [
        (name, str(value), str(reference.machine.get(name, "-"))) for name, value in run.machine.items()
    ]
    return "\n\n".join(_aligned(rows) for rows in (ratios, figures, machines))


def _aligned(rows: Iterable[tuple[str, ...]]) -> str:
    rows = list(rows)
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _value_of(found: dict[str, dict[str, Any]], name: str) -> str:
    return _number(found[name]["value"]) if name in found else "-"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def write_page(page: Path, record: Record) -> None:
    """Renew the tables of a page, between the lines that mark them."""
    before, _, after = page.read_text(encoding="utf-8").split(MARK)
    page.write_text(f"{before}{MARK}\n{_tables(record)}\n{MARK}{after}", encoding="utf-8")


def _tables(record: Record) -> str:
    where = ", ".join(f"{name} {value}" for name, value in record.machine.items())
    ratios = [f"| {name} | {_number(found['value'])} | {found['target']} |" for name, found in record.ratios.items()]
    figures = [
        f"| {name} | {_number(found['value'])} {found['unit']} | {found['target']} |"
        for name, found in record.figures.items()
    ]
    tables = (["| ratio (more is better) |", *ratios], ["| figure |", *figures])
    return "\n\n".join(
        [f"Measured on: {where}."]
        + ["\n".join([f"{head} measured | target |", "|---|---|---|", *rows]) for head, *rows in tables]
    )
