"""What a run of the benchmarks found against what was found before.

Only ratios are compared: both of their sides were measured in one run, so they hold from machine to machine and on a busy
one. Absolute figures are shown, with the machine they come from.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

FALL = 0.2  # a ratio that fell by more than this share is flagged
MARK = "<!-- figures -->"
LIBRARIES = ("numba", "numpy", "simpy", "greenlet")


@dataclass
class Record:
    """The findings of a run: {name: {"value", "target"}} ratios, figures with their "unit" too, and where."""

    machine: dict[str, Any] = field(default_factory=dict)
    ratios: dict[str, dict[str, Any]] = field(default_factory=dict)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)


def read_run(path: Path) -> Record:
    """The findings in a file that pytest-benchmark wrote."""
    run = json.loads(path.read_text(encoding="utf-8"))
    found = Record(describe_machine(run["datetime"]))
    for benchmark in run["benchmarks"]:
        found.ratios |= benchmark["extra_info"].get("ratios", {})
        found.figures |= benchmark["extra_info"].get("figures", {})
    return found


def read_reference(path: Path) -> Record:
    """The reference, empty if there is none."""
    return Record(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Record()


def write_reference(path: Path, record: Record) -> None:
    """Write a reference, figures rounded to four digits."""
    rounded = asdict(record)
    for found in (*rounded["ratios"].values(), *rounded["figures"].values()):
        found["value"] = float(f"{found['value']:.4g}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rounded, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def describe_machine(date: str) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "date": date[:16].replace("T", " "),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
    }


def find_fallen(run: Record, reference: Record) -> list[str]:
    """The ratios that are more than FALL below the reference."""
    return [
        name
        for name, ratio in run.ratios.items()
        if name in reference.ratios and ratio["value"] < (1 - FALL) * reference.ratios[name]["value"]
    ]


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


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    if "model name" not in named:
        return platform.processor() or platform.machine()
    return f"{named['model name']}, family {named.get('cpu family', '?')} model {named.get('model', '?')}"


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


def main(run: Path, reference: Path, page: Path | None = None) -> int:
    """Print a run against the reference; returns 1 if a ratio fell. With a page, make it the reference and the page's."""
    found, known = read_run(run), read_reference(reference)
    print(lay_out(found, known))
    if page is not None:
        write_reference(reference, found)
        write_page(page, found)
        print(f"\n{reference} and {page} hold these figures now")
        return 0
    if fallen := find_fallen(found, known):
        print(f"\nfell by more than {FALL:.0%}: {'; '.join(fallen)}", file=sys.stderr)
        return 1
    return 0
