"""`report.html`: the results of a sweep on one page, without a network.

It has the plots as SVG, and a table of points to sort, filter and plot. Of very many points it has the Pareto front and
the best. Bounds come after results, marked and drawn hollow.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from kernbench.characters import visible
from kernbench.report.markdown_report import summarise
from kernbench.report.sensitivity import Sensitivity
from kernbench.report.table import (
    MARKS,
    sensitivity_cells,
    sensitivity_heads,
    shown_columns,
    tell_selection,
)
from kernbench.sweep.grid.grid import Grid, Objective
from kernbench.sweep.results.bounds import count_bounded, find_senses, is_bounded
from kernbench.sweep.results.pareto import pareto_front, rank_points
from kernbench.sweep.results.store import write_whole
from kernbench.sweep.row import BOUND, COLUMNS
from kernbench.text import plural

if TYPE_CHECKING:
    import polars

MOST_POINTS = 2000
DROPPED = ("key", "error", "status", "wall_s", "bench_digest", "topology_digest", "kernbench", "program_digest")
TEMPLATE = Path(__file__).with_name("page.html")
_OWN_IDS = re.compile(r'\b(id="|href="#|xlink:href="#|url\(#)')


def write_page(
    grid: Grid,
    table: polars.DataFrame,
    objectives: Sequence[Objective],
    found: Sequence[Sensitivity],
    pictures: Mapping[str, Path],
    path: Path,
) -> Path:
    """Write the page; returns its path. Errors: InputError if it cannot be written."""
    first, *rest = summarise(grid, table, objectives)
    data = _data(table, objectives)
    text = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=_text(grid.description or grid.name),
        summary=_text(first),
        sentences="".join(f"<li>{_text(sentence)}</li>" for sentence in rest),
        pictures="".join(_picture(name, picture) for name, picture in pictures.items()),
        sensitivity=_sensitivities(found),
        hollow=" hollow ones are bounds (≥ at least, ≤ at most);" if any(data["marks"]) else "",
        shown=f"{len(data['rows'])} of {plural(len(table), 'point')}",
        data=json.dumps(data, allow_nan=False).replace("<", "\\u003c"),
    )
    write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))
    return path


def _data(table: polars.DataFrame, objectives: Sequence[Objective]) -> dict[str, Any]:
    """The data of the page's script: columns, rows, the rows on the front, the first plot."""
    import polars

    front = pareto_front(table, objectives)
    bounds = table.filter(is_bounded(table)) if count_bounded(table) else table.clear()
    ranked = polars.concat([front, *(rank_points(part, objectives[0], MOST_POINTS) for part in (table, bounds))])
    rows = ranked.unique("key", keep="first", maintain_order=True).head(MOST_POINTS)
    varying = shown_columns(table, objectives)
    rest = [name for name in table.columns if name in COLUMNS or name not in varying]
    results = [name for name in rest if name not in DROPPED and not name.endswith(BOUND) and table[name].n_unique() > 1]
    columns = list(dict.fromkeys([*varying, *results]))
    numeric = [name for name in columns if table[name].dtype.is_numeric() or table[name].dtype == polars.Boolean]
    wanted = [objective.column for objective in objectives]
    across = wanted[1] if len(wanted) > 1 else next((name for name in numeric if name != wanted[0]), wanted[0])
    return {
        "columns": columns,
        "numeric": numeric,
        "across": across,
        "up": wanted[0],
        "colour": next((name for name in columns if name not in (across, wanted[0])), wanted[0]),
        "rows": [[_plain(value) for value in row] for row in rows.select(columns).iter_rows()],
        "marks": _marks(rows, columns),
        "front": rows["key"].is_in(front["key"].to_list()).to_list(),
    }


def _marks(rows: polars.DataFrame, columns: Sequence[str]) -> list[list[str] | None]:
    """Of each row that has only bounds the mark before each figure."""
    senses = zip(*(find_senses(rows, name) for name in columns), strict=True)
    return [
        [MARKS[sense] for sense in row] if bound else None for row, bound in zip(senses, is_bounded(rows), strict=True)
    ]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _picture(name: str, path: Path) -> str:
    """An SVG as a part of the page; its ids get a prefix, because all plots use the same ids."""
    svg = path.read_text(encoding="utf-8")
    prefix = path.stem + "-"
    own = _OWN_IDS.sub(lambda found: found.group(0) + prefix, svg[svg.index("<svg") :])
    return f"<figure><figcaption>{_text(name.capitalize())}</figcaption>{own}</figure>"


def _sensitivities(found: Sequence[Sensitivity]) -> str:
    if not found:
        return ""
    told = tell_selection(found)
    averages = f"<p>{_text(f'Averages{told}.')}</p>" if told else ""
    return (
        f"<h2>What moves the objectives</h2>{averages}{_rows(sensitivity_heads(found), map(sensitivity_cells, found))}"
    )


def _text(text: str) -> str:
    return escape(visible(text))


def _rows(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{_text(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{_text(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
