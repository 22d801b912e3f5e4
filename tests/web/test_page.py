"""The page in a real browser: clicks, keys and brushes. An error on its console is a failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kernbench.web.server import make_server
from kernbench.web.sources import Sources
from tests.web.sweeps import HOSTILE, small_table, write_sweep

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

OBJECTIVES = [{"column": "latency_ns", "least": True}, {"column": "topology.noc.gbs", "least": True}]


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    return write_sweep(tmp_path / "swept", objectives=OBJECTIVES, description=HOSTILE)


@pytest.fixture
def address(swept: Path) -> Iterator[str]:
    with make_server(Sources([str(swept), "tiny"])) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def shown(page: Page) -> list[str]:
    """The first cells of the rows of the table."""
    return page.locator(".table tbody tr td:first-child").all_inner_texts()


def drag(page: Page, box: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag over a box, from and to places in pixels of it."""
    page.mouse.move(box["x"] + start[0], box["y"] + start[1])
    page.mouse.down()
    page.mouse.move(box["x"] + end[0], box["y"] + end[1], steps=6)
    page.mouse.up()


def test_filters_are_one_in_brushes_table_and_address(page: Page, address: str) -> None:
    page.goto(f"{address}#/sweep/swept")
    page.wait_for_selector(".table tbody tr")
    assert len(shown(page)) == 12
    page.get_by_label("Filter M", exact=True).fill(">=2")
    page.wait_for_selector("text=8 of 12 points")
    assert set(shown(page)) == {"2", "4"}
    assert "f.M=%3E%3D2" in page.url
    box = page.locator(".parallel canvas").bounding_box()
    assert box
    axis = 64 + (box["width"] - 64 - 80) / 4  # the second of five axes, topology.noc.gbs: its upper half is 128
    drag(page, box, (axis, 70), (axis, 62 + (box["height"] - 62 - 16) / 2))
    page.wait_for_selector("text=4 of 12 points")
    assert "f.topology.noc.gbs=128" in page.url
    page.reload()
    page.wait_for_selector("text=4 of 12 points")
    page.keyboard.press("Escape")
    page.wait_for_selector(".chips button", state="detached")
    assert len(shown(page)) == 12
    assert "f." not in page.url


def test_a_brush_over_the_plot_filters_both_columns_and_a_double_click_ends_it(page: Page, address: str) -> None:
    page.goto(f"{address}#/sweep/swept?x=M&y=latency_ns")
    page.wait_for_selector(".table tbody tr")
    box = page.locator(".scatter canvas").bounding_box()
    assert box
    drag(page, box, (80, 20), (box["width"] / 2 + 30, box["height"] - 50))
    page.wait_for_url(lambda url: "f.M=1%2C2&f.latency_ns=" in url)
    assert set(shown(page)) == {"1", "2"}
    page.mouse.dblclick(box["x"] + box["width"] - 30, box["y"] + 20)
    page.wait_for_url(lambda url: "f.M" not in url)


def test_points_open_by_click_and_key_and_stand_beside_each_other(page: Page, address: str) -> None:
    page.goto(f"{address}#/sweep/swept")
    page.wait_for_selector(".table tbody tr")
    page.keyboard.press("t")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    panel = page.locator("aside.detail")
    panel.wait_for()
    assert HOSTILE in panel.inner_text()
    assert f"--set 'variant={HOSTILE}'" in panel.locator("pre").inner_text()
    page.locator(".table tbody tr").nth(4).click(modifiers=["Shift"])
    page.wait_for_selector("text=Two points")
    row = panel.locator("tr", has_text="latency_ns").inner_text().split()
    assert row[0] == "latency_ns"
    assert row[-2].startswith("−")  # less: (1, 128) against (4, 128)
    page.reload()
    page.wait_for_selector("text=Two points")
    page.keyboard.press("Escape")
    panel.wait_for(state="detached")


def test_the_table_is_sorted_by_its_headings_with_missing_figures_last(page: Page, address: str) -> None:
    page.goto(f"{address}#/sweep/swept")
    page.locator("th", has_text="latency_ns").locator("button").click()
    page.wait_for_url(lambda url: "sort=latency_ns" in url)
    assert shown(page)[0] == "1"
    page.locator("th", has_text="latency_ns").locator("button").click()
    page.wait_for_url(lambda url: "sort=-latency_ns" in url)
    assert shown(page)[0] == "4"
    assert shown(page)[-1] == "1"  # failed


def test_a_running_sweep_updates_itself_and_ends(page: Page, address: str, swept: Path) -> None:
    (swept / "table.parquet").unlink()
    write_sweep(swept, small_table()[:0], points=12, objectives=OBJECTIVES)
    page.goto(f"{address}#/sweep/swept")
    page.wait_for_selector("text=No point has finished yet")
    write_sweep(swept, small_table()[:5], "progress.parquet", points=12, most_points=12, objectives=OBJECTIVES)
    page.wait_for_selector("text=5 of 12 points")
    assert len(shown(page)) == 5
    write_sweep(swept, objectives=OBJECTIVES)
    (swept / "progress.parquet").unlink()
    page.wait_for_selector("progress", state="detached")
    assert page.locator(".progress").inner_text().startswith("12 points")
    assert len(shown(page)) == 12


def test_a_part_is_searched_zoomed_to_and_told_with_its_sources(page: Page, address: str) -> None:
    page.goto(f"{address}#/machine/tiny")
    page.wait_for_selector(".drawing canvas")
    page.keyboard.press("/")
    page.keyboard.type("cube1 pe1 gemm")
    page.keyboard.press("Enter")
    panel = page.get_by_label("A part", exact=True)
    panel.wait_for()
    assert "sip0.cube1.pe1.pe_gemm" in panel.inner_text()
    assert "KernBench architecture" in panel.inner_text()
    assert "select=sip0.cube1.pe1.pe_gemm&at=" in page.url
    seen = page.url
    canvas = page.locator(".drawing canvas")
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, 600)
    page.wait_for_url(lambda url: url != seen)
    page.goto(seen)
    page.reload()
    panel.wait_for()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector(".hover >> text=sip0.cube1.pe1.pe_scheduler")  # stands in the middle of the PE
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("h2 >> text=sip0.cube1.pe1.pe_scheduler")
    page.keyboard.press("t")
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    page.get_by_label("Parts of the machine").wait_for()


def test_keys_lead_from_source_to_source_and_to_the_list(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("main.start")
    page.keyboard.press("]")
    page.wait_for_selector("main.sweep")
    page.keyboard.press("]")
    page.wait_for_selector("main.machine")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.go_back()
    page.wait_for_selector("main.sweep")
