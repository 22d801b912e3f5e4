"""`report.html`: what it carries, and in a real browser, opened from the disk."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars
import pytest

from kernbench.report.colours import tell_axes
from kernbench.report.pages.html_report import choose_rows, write_page
from kernbench.sweep.grid.grid import Objective, load_grid
from kernbench.sweep.results.objectives import choose_objectives
from kernbench.sweep.results.sensitivity import find_sensitivities
from kernbench.sweep.results.swept_axes import find_swept
from tests.report.sample_pages import read_points, read_state, unpack
from tests.report.sample_tables import table
from tests.web.sweeps import HOSTILE, small_table

if TYPE_CHECKING:
    from playwright.sync_api import Page

GRID = {
    "bench": "toy",
    "name": "mine",
    "description": HOSTILE,
    "objectives": ["min latency_ns", "min topology.noc.gbs"],
}
MANIFEST = {
    "kernbench": "0.1.0+abc",
    "command": "kernbench sweep mine",
    "date": "2026-01-02 03:04:05 UTC",
    "points": 12,
}


def write(directory: Path, given: polars.DataFrame | None = None, grid: dict[str, Any] = GRID, **told: Any) -> Path:
    """The page of a sweep, with one figure."""
    rows = small_table() if given is None else given
    checked = load_grid(grid)
    objectives = choose_objectives(checked, rows)
    figure = directory / "pareto.svg"
    figure.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect style="fill: red"/></svg>')
    found = find_sensitivities(rows, objectives)
    manifest = {**MANIFEST, **told}
    return write_page(checked, rows, rows, objectives, found, {"pareto": figure}, manifest, directory / "report.html")


def test_the_page_says_as_text_what_the_report_says(tmp_path: Path) -> None:
    page = write(tmp_path).read_text(encoding="utf-8")
    assert "<p>toy on sip_2x4x4, hybrid mode, method grid: 12 points, 2 of which failed.</p>" in page
    assert "<li>min latency_ns: 1,505 at M = 1, noc.gbs = 128 GB/s, variant = plain</li>" in page
    assert "<li>M: 1, 2, 4</li>" in page
    assert "<h2>What moves the objectives</h2>" in page
    assert '<figcaption>Pareto</figcaption><img alt="Pareto" src="data:image/svg+xml;base64,' in page
    assert "<dt>KernBench</dt><dd>0.1.0+abc</dd><dt>Command</dt><dd>kernbench sweep mine</dd>" in page
    assert "<dt>Date</dt><dd>2026-01-02 03:04:05 UTC</dd>" in page


def test_the_page_carries_the_points_with_their_front_and_marks_of_bounds(tmp_path: Path) -> None:
    given = table(lambda m: 10.0 * m, M=[1, 2]).with_columns(
        fidelity=polars.Series(["hybrid", "analytic"]), cost=polars.lit(1.0), cost_bound=polars.Series([None, "lower"])
    )
    path = write(tmp_path, given, {"bench": "toy", "mode": "auto", "derived": {"cost": "1 + 0 * latency_ns"}})
    points = read_points(path)
    assert points["_front"].to_list() == [True, False]
    assert points["_bounded"].to_list() == [False, True]
    marked = {name: points[name].to_list() for name in points.columns if name.startswith("_mark.")}
    assert {name: marks[0] for name, marks in marked.items()} == dict.fromkeys(marked)
    marks = {name.removeprefix("_mark."): marks[1] for name, marks in marked.items()}
    assert (marks["latency_ns"], marks["achieved_tflops"], marks["cost"]) == ("≥ ", "≤ ", "≥ ")
    assert not {"M", "bottleneck_utilisation"} & marks.keys()
    assert read_state(path)["parameters"] == ["M", "dtype"]


def test_the_policy_of_the_page_allows_its_own_programs_alone(tmp_path: Path) -> None:
    path = write(tmp_path)
    page = path.read_text(encoding="utf-8")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (boot,) = re.findall(r"<script>(.*?)</script>", page, re.S)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    for text in (boot.encode(), style.encode(), unpack(path, "program")):
        assert f"'sha256-{b64encode(hashlib.sha256(text).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert b"\necharts " in unpack(path, "licences")


def test_of_very_many_points_the_front_the_best_and_the_failed_are_kept() -> None:
    objectives = (Objective("latency_ns"), Objective("M", least=False))
    given = table(lambda m: None if m == 7 else 10.0 * m, M=range(1, 10))
    assert choose_rows(given, objectives, 9) is None
    objectives = objectives[:1]
    assert choose_rows(given, objectives, 4) == ["(1,)", "(7,)", "(2,)", "(3,)"]


def test_points_that_are_left_out_are_counted(tmp_path: Path) -> None:
    given, grid = small_table(), load_grid(GRID)
    objectives = choose_objectives(grid, given)
    path = write_page(grid, given, given[:5], objectives, [], {}, {}, tmp_path / "report.html")
    text = "The views below have 5 of 12 points: the front, the best and some that failed. <code>table.parquet</code>"
    assert text in path.read_text(encoding="utf-8")


NAMES = "() => [...document.querySelectorAll('.parallel .legend .swatch')].map((one) => one.textContent)"


def colours_of(page: Page, column: str) -> list[tuple[int, ...]]:
    """The colours of the legend of a column: of each value, or the stops of its ramp."""
    page.locator("label.pick", has_text="Colour").first.locator("select").select_option(label=column)
    page.locator(".parallel .legend span", has_text=re.compile(f"^{re.escape(column)}$")).wait_for()
    found = page.evaluate(
        """() => [...document.querySelectorAll(".parallel .legend i, .parallel .legend .ramp")]
            .map((one) => one.style.background).join(" ")"""
    )
    return [tuple(map(int, one)) for one in re.findall(r"rgb\((\d+), (\d+), (\d+)\)", found)]


@pytest.mark.slow
def test_a_colour_means_one_thing_in_views_and_figures(page: Page, tmp_path: Path) -> None:
    """Names of an axis have the colours of the figures; of an objective bright is good; what is neither is grey."""
    path = write(tmp_path)
    told = read_state(path)["colours"]
    assert told == tell_axes(find_swept(small_table()))
    page.goto(path.as_uri())
    page.wait_for_selector("text=12 points")
    drawn = colours_of(page, "variant")
    swatches = dict(zip(page.evaluate(NAMES), drawn, strict=True))
    assert swatches == {name: tuple(bytes.fromhex(colour[1:])) for name, colour in told["variant"].items()}
    least, *_, most = colours_of(page, "latency_ns")  # the least is best
    assert sum(least) > sum(most)
    assert all(abs(red - blue) < 40 for red, _, blue in colours_of(page, "achieved_tflops"))
    ink = page.evaluate("getComputedStyle(document.querySelector('.table')).color")
    assert page.locator(".legend.marks i.front").evaluate("one => getComputedStyle(one).borderTopColor") == ink


@pytest.mark.slow
def test_the_page_works_from_the_disk(page: Page, tmp_path: Path) -> None:
    page.goto(f"{write(tmp_path).as_uri()}#?f.M=%3E%3D2")
    page.wait_for_selector("text=8 of 12 points")
    assert page.locator("h1").inner_text() == HOSTILE
    page.wait_for_function("document.querySelectorAll('canvas').length >= 2")
    assert page.evaluate("document.querySelector('.figures img').naturalWidth") == 40
    page.keyboard.press("/")
    page.keyboard.type("variant=plain")
    page.wait_for_selector("text=4 of 12 points")
    page.wait_for_url(lambda url: "search=variant%3Dplain" in url)
    page.reload()
    page.wait_for_selector("text=4 of 12 points")
    page.locator(".table tbody tr").first.click()
    page.locator("aside.detail").wait_for()
    with page.expect_download() as started:
        page.get_by_role("button", name="CSV").click()
    assert len(Path(started.value.path()).read_text().splitlines()) == 5
    page.get_by_text("Licences of the programs").click()
    page.wait_for_selector(".licences >> text=Apache License")


@pytest.mark.slow
def test_a_page_of_failures_alone_says_why(page: Page, tmp_path: Path) -> None:
    given = table(lambda m: None, M=[1, 2]).with_columns(error=polars.lit(HOSTILE))
    page.goto(write(tmp_path, given, {"bench": "toy"}, most_points=3).as_uri())
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert alert.inner_text().startswith(f"All 2 points failed:\n{HOSTILE} ")
    assert page.locator(".progress").inner_text() == "2 of 3 points, 2 failed"
    assert page.locator(".table tbody td.text").all_inner_texts() == [HOSTILE, HOSTILE]


@pytest.mark.slow
def test_a_page_without_points_says_so(page: Page, tmp_path: Path) -> None:
    page.goto(write(tmp_path, small_table()[:0], {"bench": "toy"}).as_uri())
    page.wait_for_selector("text=This sweep has no points.")
