"""`report.html`: the results of a sweep on one page that opens from the disk, without a server or a network.

The page has as text what `report.md` says, and the views of the viewer: parallel coordinates, a plot, a table, with one set
of filters. `kernbench/web/page` has the sources of its script and style, `assets` what is built of them. Script and points
stand in the page compressed; its policy allows that script alone, by its digest.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from kernbench.characters import visible
from kernbench.report.colours import tell_axes
from kernbench.report.pages.markdown_report import list_values, summarise
from kernbench.report.pages.page_data import describe_sweep, find_parameters, make_arrow
from kernbench.report.tables.sweep_tables import sensitivity_cells, sensitivity_heads, tell_selection
from kernbench.sweep.grid.grid import Grid, Objective
from kernbench.sweep.results.bounds import count_bounded, is_bounded
from kernbench.sweep.results.pareto import pareto_front, rank_points
from kernbench.sweep.results.sensitivity import Sensitivity
from kernbench.sweep.results.store import write_whole
from kernbench.sweep.results.swept_axes import find_swept
from kernbench.sweep.row import OK

if TYPE_CHECKING:
    import polars

MOST_POINTS = 200_000  # of which a browser still opens the page in seconds
MOST_FAILED = 1000  # of those, if there are more points
TEMPLATE = Path(__file__).parents[1] / "page.html"
ASSETS = Path(__file__).parents[1] / "assets"
LEVEL = 6  # of gzip: 9 takes three times as long and saves a hundredth


def write_page(
    grid: Grid,
    table: polars.DataFrame,
    rows: polars.DataFrame,
    objectives: Sequence[Objective],
    found: Sequence[Sensitivity],
    pictures: Mapping[str, Path],
    manifest: Mapping[str, Any],
    path: Path,
    ranking: Sequence[str] = (),
) -> Path:
    """Write the page of a table; returns its path.

    `rows` are those that its views show (`choose_rows`), with the parameters that do not vary too. `manifest` is what
    `sweep.json` says, `pictures` are SVG files by name, `ranking` says how certain the order of the best points is. The
    page is the same for the same arguments.
    Errors: InputError if it cannot be written.
    """
    first, *rest = summarise(grid, table, objectives)
    state = _state(grid, table, rows, objectives, manifest)
    program, boot, style = (_read_asset(name) for name in ("report.js", "boot.js", "report.css"))
    text = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=_text(grid.description or grid.name),
        policy=_policy([program, boot], style),
        style=style,
        summary=_text(first),
        sentences="".join(f"<li>{_text(sentence)}</li>" for sentence in [*rest, *ranking, *list_values(table)]),
        left_out=_left_out(len(rows), len(table)),
        sensitivity=_sensitivities(found),
        pictures="".join(_picture(name, picture) for name, picture in pictures.items()),
        origin="".join(f"<dt>{_text(name)}</dt><dd>{_text(said)}</dd>" for name, said in state["about"]),
        state=json.dumps(state, allow_nan=False).replace("<", "\\u003c"),
        table=_pack(make_arrow(rows, objectives)),
        licences=_pack_asset("licences.txt"),
        program=_pack_asset("report.js"),
        boot=boot,
    )
    write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))
    return path


def _state(
    grid: Grid,
    table: polars.DataFrame,
    rows: polars.DataFrame,
    objectives: Sequence[Objective],
    manifest: Mapping[str, Any],
) -> dict[str, Any]:
    """The state of the sweep, in the shape in which the viewer's server tells it to the same views."""
    return {
        **describe_sweep(manifest, objectives, tell_axes(find_swept(table))),
        "name": grid.name,
        "description": grid.description,
        "mode": grid.mode,
        "bench": grid.bench,
        "workload": grid.workload,
        "topology": grid.topology,
        "directory": "",
        "version": "",
        "running": False,
        "rows": len(rows),
        "points": max(len(table), manifest.get("most_points", 0)),
        "parameters": list(find_parameters(rows)),
    }


def choose_rows(table: polars.DataFrame, objectives: Sequence[Objective], most: int = MOST_POINTS) -> list[str] | None:
    """The keys of the rows of a page, of very many the front, the best, the best bounds and some that failed; None: all."""
    import polars

    if len(table) <= most:
        return None
    bounds = table.filter(is_bounded(table)) if count_bounded(table) else table.clear()
    chosen = [pareto_front(table, objectives), table.filter(table["status"] != OK).head(MOST_FAILED)]
    chosen += [rank_points(part, objectives[0], most) for part in (table, bounds)]
    keys = polars.concat([rows["key"] for rows in chosen]).unique(maintain_order=True)
    return keys.head(most).to_list()


def _left_out(shown: int, of: int) -> str:
    if shown == of:
        return ""
    return (
        f"<p>The views below have {shown:,} of {of:,} points: the front, the best and some that failed. "
        "<code>table.parquet</code> beside this page has all.</p>"
    )


def _policy(scripts: Iterable[str], style: str) -> str:
    """The policy of the page: its own scripts and style, by their digests, and pictures inside of it."""
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _read_asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


@cache
def _pack_asset(name: str) -> str:
    return _pack(_read_asset(name).encode())


def _pack(content: bytes) -> str:
    return b64encode(gzip.compress(content, LEVEL, mtime=0)).decode()


def _picture(name: str, path: Path) -> str:
    """A figure with its caption. The SVG is an image, so that the page's policy and style do not reach into it."""
    svg = b64encode(path.read_bytes()).decode()
    caption = _text(name.capitalize())
    return f'<figure><figcaption>{caption}</figcaption><img alt="{caption}" src="data:image/svg+xml;base64,{svg}"></figure>'


def _sensitivities(found: Sequence[Sensitivity]) -> str:
    if not found:
        return ""
    told = tell_selection(found)
    averages = f"<p>{_text(f'Averages{told}.')}</p>" if told else ""
    rows = _rows(sensitivity_heads(found), map(sensitivity_cells, found))
    return f"<section><h2>What moves the objectives</h2>{averages}{rows}</section>"


def _text(text: str) -> str:
    return escape(visible(text))


def _rows(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col">{_text(text)}</th>' for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{_text(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
