"""The page in a real browser: clicks, keys and brushes. An error on its console is a failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars
import pytest

from kernbench.web.server import make_server
from kernbench.web.sources import Sources
from tests.web.sweeps import HOSTILE, small_table, write_sweep

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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
    page.wait_for_url(lambda url: "f.M=%3E%3D2" in url)
    box = page.locator(".parallel [aria-busy=false] canvas").bounding_box()
    assert box
    axis = 84 + (box["width"] - 84 - 92) / 4  # the second of five axes, topology.noc.gbs: its upper half is 128
    drag(page, box, (axis, 70), (axis, 62 + (box["height"] - 62 - 16) / 2))
    page.wait_for_selector("text=4 of 12 points")
    page.wait_for_url(lambda url: "f.topology.noc.gbs=128" in url)
    page.reload()
    page.wait_for_selector("text=4 of 12 points")
    page.keyboard.press("Escape")
    page.wait_for_selector(".chips button", state="detached")
    assert len(shown(page)) == 12
    page.wait_for_url(lambda url: "f." not in url)


@pytest.mark.parametrize("micro", ["u", "\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}"])
def test_filters_take_units_and_either_letter_of_micro(page: Page, address: str, micro: str) -> None:
    page.goto(f"{address}#/sweep/swept")
    page.wait_for_selector(".table tbody tr")
    page.get_by_label("Filter latency_ns", exact=True).fill(f">1_000_000{micro}s")
    page.wait_for_selector("text=0 of 12 points", timeout=5000)


def test_a_brush_over_the_plot_filters_both_columns_and_a_double_click_ends_it(page: Page, address: str) -> None:
    page.goto(f"{address}#/sweep/swept?x=M&y=latency_ns")
    page.wait_for_selector(".table tbody tr")
    box = page.locator(".scatter [aria-busy=false] canvas").bounding_box()
    assert box
    drag(page, box, (80, 40), (box["width"] / 2 + 30, box["height"] - 50))
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


def test_headings_sort_by_keys_and_say_how(page: Page, address: str) -> None:
    page.goto(f"{address}#/sweep/swept")
    heading = page.locator("th", has_text="latency_ns")
    heading.get_by_role("button").focus()
    for key, order in (("Enter", "ascending"), ("Space", "descending"), ("Enter", "none")):
        page.keyboard.press(key)
        page.wait_for_selector(f"th[aria-sort={order}] >> text=latency_ns")
    page.keyboard.press("Tab")
    page.keyboard.type(">3000")
    page.wait_for_url(lambda url: "f.latency_ns=%3E3000" in url)


@pytest.mark.parametrize(
    ("search", "count"),
    [
        ("M=2", 4),
        ("noc.gbs=128 variant=plain", 3),
        ("gbs=64 latency_ns>3010", 3),
        ("PLAIN", 6),
        ("2,505", 1),
        ("gbs=0.128TB/s", 6),
        ("gbs>100GB/s latency_ns<=3.01us variant=plain", 2),
        ('latency_ns="2.5 us..3010 ns" variant=plain', 2),
    ],
)
def test_the_search_takes_names_with_values_and_words(page: Page, address: str, search: str, count: int) -> None:
    page.goto(f"{address}#/sweep/swept")
    page.wait_for_selector(".table tbody tr")
    page.keyboard.press("/")
    page.keyboard.type(search)
    page.wait_for_selector(f"text={count} of 12 points")
    assert len(shown(page)) == count


def test_where_nothing_matches_the_page_says_so_and_what_would(page: Page, address: str) -> None:
    page.goto(f"{address}#/sweep/swept?f.M=2&search=latency_ns%3E4000")
    banner = page.get_by_role("status")
    banner.wait_for()
    assert "None of the 12 points matches." in banner.inner_text()
    assert banner.get_by_role("button").all_inner_texts() == [
        "Without M: 4",
        "Without the search: 4",
        "Show all points",
    ]
    banner.get_by_text("Without M: 4").click()
    page.wait_for_selector("text=4 of 12 points")
    page.get_by_label("Search all columns").fill("colour=red")
    page.wait_for_selector("text=no column is called colour; there are M, noc.gbs, variant")
    page.get_by_text("Show all points").click()
    page.wait_for_function("document.querySelectorAll('.table tbody tr').length === 12")


def test_columns_are_chosen_and_downloaded_with_all_digits(page: Page, address: str) -> None:
    page.goto(f"{address}#/sweep/swept?column=variant&column=latency_ns&sort=-latency_ns&search=noc.gbs%3D128")
    page.wait_for_selector(".table tbody tr")
    page.get_by_text("Columns (2)").click()
    page.get_by_role("group", name="Columns of the table").get_by_label("M", exact=True).check()
    page.wait_for_url(lambda url: "column=M" in url)
    with page.expect_download() as started:
        page.get_by_role("button", name="CSV").click()
    assert started.value.suggested_filename == "swept.csv"
    text = Path(started.value.path()).read_bytes().decode()
    assert text.startswith("M,variant,latency_ns\r\n4,<script>alert(1)</script>,4525\r\n")
    given = small_table().filter(polars.col("topology.noc.gbs") == 128).sort("latency_ns", descending=True)
    read = polars.read_csv(text.encode(), schema_overrides={"latency_ns": polars.Float64})
    assert read.rows() == given.select("M", "variant", "latency_ns").rows()


def test_points_that_failed_say_why_and_are_shown(page: Page, address: str) -> None:
    page.goto(f"{address}#/sweep/swept")
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert alert.inner_text().startswith("2 of 12 points failed:\nno ")
    alert.get_by_text("show 2 points").click()
    page.wait_for_selector("text=2 of 12 points")
    assert shown(page) == ["1", "1"]


def test_what_made_a_sweep_is_told(page: Page, address: str, swept: Path) -> None:
    write_sweep(swept, objectives=OBJECTIVES, command=f"kernbench sweep '{HOSTILE}'", date="2026-01-02 03:04:05 UTC")
    page.goto(f"{address}#/sweep/swept")
    page.get_by_text("About").click()
    told = page.locator(".origin").inner_text()
    assert f"kernbench sweep '{HOSTILE}'" in told
    assert "2026-01-02 03:04:05 UTC" in told


def test_a_sweep_of_categories_alone_is_drawn(page: Page, address: str, swept: Path) -> None:
    write_sweep(swept, small_table().filter(polars.col("M") == 2), objectives=OBJECTIVES)
    page.goto(f"{address}#/sweep/swept?x=variant&y=topology.noc.gbs&colour=variant&axis=variant&axis=bottleneck")
    page.wait_for_selector(".parallel .legend >> text=plain")
    assert page.locator(".parallel .legend .swatch").all_inner_texts() == [HOSTILE, "plain"]


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
    page.wait_for_url(lambda url: "select=sip0.cube1.pe1.pe_gemm&at=" in url)
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


def test_keys_move_a_drawing_that_nobody_clicked_on_but_not_while_typing(page: Page, address: str) -> None:
    page.goto(f"{address}#/machine/tiny")
    page.wait_for_selector(".drawing canvas")
    page.keyboard.press("3")
    page.wait_for_url(lambda url: "at=" in url)
    cube = page.url
    page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: url != cube)
    moved = page.url
    page.keyboard.press("/")
    page.keyboard.type("pe1")
    page.keyboard.press("ArrowDown")
    assert page.url == moved
    assert page.get_by_label("Search parts by name or kind").input_value() == "pe1"


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


def test_the_start_page_tells_what_there_is_and_leads_there(page: Page, address: str) -> None:
    page.goto(address)
    row = page.locator(".start tr", has_text="swept")
    row.get_by_text(HOSTILE).wait_for()
    assert "12" in row.inner_text()
    page.locator(".start").get_by_text("One package of 2 x 1 cubes").wait_for()
    page.get_by_role("link", name="swept").last.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".table tbody tr")


def test_a_shift_click_puts_points_beside_each_other_and_selects_no_text(page: Page, address: str) -> None:
    page.goto(f"{address}#/sweep/swept")
    rows = page.locator(".table tbody tr")
    rows.nth(1).click()
    rows.nth(4).click(modifiers=["Shift"])
    page.get_by_role("heading", name="Two points").wait_for()
    assert page.evaluate("String(getSelection())") == ""


def test_an_address_of_nothing_leads_back_to_all(browser: Browser, address: str) -> None:
    """The browser tells of the request that failed, so the page has no watch on its console."""
    page = browser.new_page()
    page.goto(f"{address}#/sweep/none")
    page.get_by_text("There is no sweep 'none' here").wait_for()
    page.get_by_role("link", name="All runs, sweeps and machines").click()
    page.wait_for_selector(".start")
    page.close()
