"""The timeline of a run in a real browser: what is seen, zoomed, selected, searched and measured."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import polars
import pytest

from kernbench.atomic_output import RESULT
from kernbench.runs.file_names import OP_LOG
from kernbench.web.server import make_server
from kernbench.web.sources import Sources
from tests.web.runs import write_run

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, Locator, Page

pytestmark = pytest.mark.slow

NO_PATH_PX, GROUP_PX, LAYER_PX = 58, 24, 18
LONG_NS = 20_000


def write_log(directory: Path, rows: list[tuple[str, int, int, str]]) -> Path:
    """A run of nothing but an op log: (part, start, end, name), in ns and in order; all but composites are of kind gemm."""
    directory.mkdir()
    parts, starts, ends, names = zip(*rows, strict=True) if rows else ((), (), (), ())
    log = polars.DataFrame(
        {
            "start_fs": [start * 10**6 for start in starts],
            "end_fs": [end * 10**6 for end in ends],
            "component": parts,
            "op_kind": ["composite" if name == "composite" else "gemm" for name in names],
            "op_name": names,
            "params": [""] * len(rows),
            "dependencies": [[] for _ in rows],  # no arrows, which a click would take
            "thread": parts,
            "bytes": [0] * len(rows),
            "issue_fs": [start * 10**6 for start in starts],
        },
        schema_overrides={"dependencies": polars.List(polars.Int64), "component": polars.String, "bytes": polars.Int64}
        | dict.fromkeys(("start_fs", "end_fs", "issue_fs"), polars.Int64)
        | dict.fromkeys(("op_kind", "op_name", "params", "thread"), polars.String),
    )
    log.write_parquet(directory / OP_LOG)
    told = {"bench": "made", "topology": "none", "mode": "hybrid", "parameters": {}, "overrides": {}}
    (directory / RESULT).write_text(json.dumps({**told, "latency_ns": 1.0, "makespan_ns": float(LONG_NS)}))
    return directory


def stacked() -> list[tuple[str, int, int, str]]:
    """Three that overlap and one without length on a part; on another one thousands, of which each second ns has one."""
    some = [("a.x", 0, 12_000, "low"), ("a.x", 2_000, 10_000, "middle"), ("a.x", 4_000, LONG_NS, "high")]
    rows = [*some, ("a.x", 11_000, 11_000, "mark"), ("a.x", 13_000, LONG_NS, "again")]
    return sorted([*rows, *(("a.y", at, at + 1, "tick") for at in range(0, LONG_NS, 2))], key=lambda row: row[1:3])


def tiled() -> list[tuple[str, int, int, str]]:
    """A composite in flight for the whole run, and products of its tiles in the second half alone."""
    return [("a.cpu", 0, LONG_NS, "composite"), ("a.gemm", LONG_NS // 2, LONG_NS, "tile")]


def write_network(directory: Path) -> Path:
    """A run whose result tells of two layers, each with two operators of a quarter of the time."""
    write_log(directory, tiled())
    quarter = LONG_NS * 10**6 // 4
    names = [("layer 0", "q, k, v"), ("layer 0", "o"), ("layer 1", "q, k, v"), ("layer 1", "o")]
    rows = [
        {"section": section, "operator": name, "times": 3, "start_fs": at * quarter, "end_fs": (at + 1) * quarter}
        | {"bound": "memory", "share_of_peak": 0.5}
        for at, (section, name) in enumerate(names)
    ]
    result = json.loads((directory / RESULT).read_text())
    (directory / RESULT).write_text(json.dumps({**result, "network": {"operators": rows}}))
    return directory


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("runs")
    ran, made, none = write_run(folder / "ran"), write_log(folder / "made", stacked()), write_log(folder / "none", [])
    tiles = write_log(folder / "tiles", tiled())
    network = write_network(folder / "network")
    with make_server(Sources([str(path) for path in (ran, made, none, tiles, network)])) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def told(page: Page) -> dict[str, str]:
    """What the address says."""
    return {key: values[0] for key, values in parse_qs(page.url.partition("?")[2]).items()}


def window(page: Page) -> tuple[float, float]:
    start, end = told(page)["time"].split("..")
    return float(start), float(end)


def box_of(canvas: Locator) -> FloatRect:
    found = canvas.bounding_box()
    assert found
    return found


def open_timeline(page: Page, address: str, run: str, query: str = "") -> FloatRect:
    """Open a run; returns the box of its canvas, once it is drawn."""
    page.goto(f"{address}#/run/{run}/timeline?{query}")
    page.get_by_role("treeitem").first.wait_for()
    return box_of(page.locator(".tracks canvas"))


def test_slices_that_overlap_stand_in_lanes_and_many_in_a_pixel_are_a_paler_tone(page: Page, address: str) -> None:
    box = open_timeline(page, address, "made", f"time=0..{LONG_NS}")
    top = box["y"] + NO_PATH_PX + GROUP_PX + 2

    def click(time_ns: int, lane: int) -> None:
        page.mouse.click(box["x"] + box["width"] * time_ns / LONG_NS, top + (lane + 0.5) * 11)

    panel = page.get_by_label("An operation", exact=True)
    for time_ns, lane, name in ((6000, 0, "low"), (6000, 1, "middle"), (6000, 2, "high"), (15_000, 0, "again")):
        click(time_ns, lane)
        panel.locator("h2", has_text=name).wait_for()
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] - 2)
    shown = page.evaluate(
        """([x, y]) => {
          const canvas = document.querySelector(".tracks canvas");
          const {data} = canvas.getContext("2d").getImageData(x, y, 100, 1);
          return Array.from({length: 100}, (_, at) => Array.from(data.slice(4 * at, 4 * at + 3)));
        }""",
        [int(box["width"] * 0.55), int(NO_PATH_PX + GROUP_PX + 3 * 11 + 4 + 2 + 6)],
    )
    ground, gemm = (0x17, 0x1B, 0x21), (0xA8, 0x64, 0x1A)
    shares = [(red - ground[0]) / (gemm[0] - ground[0]) for red, _, _ in shown]
    assert sum(shares) / len(shares) == pytest.approx(0.5, abs=0.06)  # half of each pixel is covered
    assert max(shares) < 0.7


def test_a_composite_in_flight_stands_apart_and_in_no_sum(page: Page, address: str) -> None:
    """It has a row of its own; the group and the overview show the work of its tiles alone, and so does the table."""
    box = open_timeline(page, address, "tiles", f"time=0..{LONG_NS}")
    names = page.get_by_role("treeitem").all_inner_texts()
    assert [name.split("\n")[-1].split("\t")[0].strip() for name in names][1:] == ["cpu.composites", "gemm"]
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] - 2)
    heights = page.evaluate(
        """(rows) => {
          const canvas = document.querySelector(".tracks canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const orange = (at) => data[at] === 0xa8 && data[at + 1] === 0x64 && data[at + 2] === 0x1a;
          const count = (x, [first, last]) => {
            let found = 0;
            for (let y = first; y < last; y++) found += orange(4 * (y * canvas.width + x));
            return found;
          };
          return [0.2, 0.8].map((part) => rows.map((lines) => count(Math.round(part * canvas.width), lines)));
        }""",
        [[0, 34], [NO_PATH_PX, NO_PATH_PX + GROUP_PX]],
    )
    (overview_before, group_before), (overview_after, group_after) = heights
    assert overview_before == group_before == 0
    assert overview_after > 10
    assert group_after > 10
    row = page.get_by_label("Operations of the run").locator("tr", has_text="composite")
    assert row.locator("td").all_inner_texts() == ["1", "in flight", "20 µs"]


def test_layers_and_operators_stand_above_the_rows_and_a_click_zooms_to_one(page: Page, address: str) -> None:
    box = open_timeline(page, address, "network", f"time=0..{LONG_NS}")
    top = box["y"] + NO_PATH_PX
    page.mouse.move(box["x"] + 0.4 * box["width"], top + 1.5 * LAYER_PX)
    tip = page.locator(".hover.tip")
    tip.get_by_text("50.0 % of the peak of memory").wait_for()
    assert tip.locator("strong").inner_text() == "o"
    page.mouse.click(box["x"] + 0.6 * box["width"], top + 0.5 * LAYER_PX)
    page.wait_for_url(lambda url: f"time=0..{LONG_NS}" not in url)
    start, end = window(page)
    assert start == pytest.approx(LONG_NS / 2, abs=LONG_NS / 20)
    assert end == pytest.approx(LONG_NS, abs=LONG_NS / 20)
    assert page.get_by_text("operators", exact=True).is_visible()


def test_a_run_of_no_network_has_no_lines_of_layers(page: Page, address: str) -> None:
    open_timeline(page, address, "made")
    assert page.get_by_text("operators", exact=True).count() == 0


def test_wheel_keys_and_drags_move_the_window_that_the_address_names(page: Page, address: str) -> None:
    box = open_timeline(page, address, "made", f"time=0..{LONG_NS}")
    quarter = box["x"] + box["width"] / 4
    page.mouse.move(quarter, box["y"] + 200)
    page.mouse.wheel(0, -300)
    page.wait_for_url(lambda url: f"time=0..{LONG_NS}" not in url)
    start, end = window(page)
    assert end - start < 0.7 * LONG_NS
    assert start + (end - start) / 4 == pytest.approx(
        LONG_NS / 4, abs=LONG_NS / 500
    )  # what was under the pointer stays there
    page.mouse.down()
    page.mouse.move(quarter + box["width"] / 10, box["y"] + 200, steps=3)
    page.mouse.up()
    dragged = pytest.approx(start - (end - start) / 10, rel=0.02)
    page.wait_for_url(lambda _: window(page)[0] == dragged)  # a slow drag names windows on its way too
    before = page.url
    page.keyboard.press("d")
    page.wait_for_url(lambda url: url != before)
    before = page.url
    page.keyboard.press("s")
    page.wait_for_url(lambda url: url != before)
    assert window(page)[1] - window(page)[0] > end - start
    page.keyboard.press("0")
    page.wait_for_url(lambda url: "time=-200..20200" in url)
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 210, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    measured = page.get_by_label("A measured time")
    measured.wait_for()
    assert "5.1" in measured.inner_text()
    assert "tick" in measured.inner_text()
    page.reload()
    measured.wait_for()
    page.keyboard.press("Escape")
    measured.wait_for(state="detached")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 45)  # the ruler
    page.wait_for_url(lambda url: "now=" in url)
    assert float(told(page)["now"]) == pytest.approx(LONG_NS / 2, rel=0.01)


def test_operations_are_searched_stepped_through_and_followed_to_what_they_wait_for(page: Page, address: str) -> None:
    open_timeline(page, address, "ran", "open=none")
    assert page.get_by_role("treeitem", expanded=True).count() == 0
    page.keyboard.press("/")
    page.keyboard.type("cube0 pe0")
    status = page.get_by_role("status")
    status.wait_for()
    count = int(status.inner_text())
    page.keyboard.press("Enter")
    page.wait_for_selector(f"text=1 of {count}")
    panel = page.get_by_label("An operation", exact=True)
    panel.wait_for()
    first = told(page)
    assert "pe0" in first["select"]
    page.get_by_role("treeitem", selected=True).wait_for()  # its group was opened
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(f"text={count} of {count}")
    panel.locator("h3 >> text=It waits for").wait_for()
    last = told(page)["row"]
    panel.locator("h3:has-text('It waits for') + ul button").first.click()
    page.wait_for_url(lambda url: f"row={last}" not in url)
    panel.locator("h3:has-text('What waits for it') + ul button").first.wait_for()
    seen = page.url
    page.keyboard.press("f")
    page.wait_for_url(lambda url: url != seen)
    seen = page.url
    page.reload()
    panel.wait_for()
    assert page.url == seen
    page.keyboard.press("Escape")
    panel.wait_for(state="detached")


ESCAPE_AT_ONCE = """
    new MutationObserver((_, observer) => {
        if (!document.querySelector("[aria-label='An operation']")) return;
        observer.disconnect();
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    }).observe(document, { childList: true, subtree: true });
"""


def test_a_key_is_heard_as_soon_as_the_page_shows_what_it_acts_on(page: Page, address: str) -> None:
    page.add_init_script(ESCAPE_AT_ONCE)
    open_timeline(page, address, "ran", "row=3")
    page.wait_for_url(lambda url: "row=" not in url)


def test_rows_fold_by_key_and_click_and_kinds_are_left_out(page: Page, address: str) -> None:
    open_timeline(page, address, "ran", "open=none")
    rows = page.get_by_role("treeitem")
    closed = rows.count()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("treeitem", expanded=True).wait_for()
    assert rows.count() > closed
    assert told(page)["open"] != "none"
    page.keyboard.press("e")
    page.wait_for_url(lambda url: "open=*" in url)
    page.keyboard.press("E")
    page.wait_for_url(lambda url: "open=none" in url)
    assert rows.count() == closed
    page.get_by_role("button", name="gemm", exact=True).first.click()
    page.wait_for_url(lambda url: "kinds=" in url)
    assert "gemm" not in told(page)["kinds"].split(",")
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "kinds=" not in url)


def test_rows_with_nothing_of_the_kinds_that_are_kept_take_no_room(page: Page, address: str) -> None:
    open_timeline(page, address, "ran", "open=*")
    page.get_by_role("treeitem", name="utilisation").wait_for()
    rows = page.get_by_role("treeitem")
    assert rows.filter(has_text="pe_gemm").count() == 1
    everything = rows.count()
    page.goto(f"{address}#/run/ran/timeline?open=*&kinds=gemm")
    rows.filter(has_text="pe_dma").first.wait_for(state="detached")
    assert rows.filter(has_text="pe_gemm").count() == 1
    assert rows.count() < everything
    tops = [box_of(row) for row in rows.all()]
    assert all(above["y"] + above["height"] == below["y"] for above, below in pairwise(tops))
    page.keyboard.press("Escape")
    rows.filter(has_text="pe_dma").first.wait_for()
    assert rows.count() == everything


def test_utilisation_and_queues_are_rows(page: Page, address: str) -> None:
    box = open_timeline(page, address, "ran", "open=none")
    group = page.get_by_role("treeitem", name="utilisation")
    group.locator("small >> text=100 %").wait_for()  # of the busiest part, at the time of most
    group.click()
    page.wait_for_url(lambda url: "open=utilisation" in url)
    engine = page.get_by_role("treeitem", name="gemm", exact=False).first
    at = box_of(engine)
    whole = told(page)
    engine.click()  # it is no part, and selects none
    assert told(page) == whole
    page.mouse.move(box["x"] + box["width"] / 2, at["y"] + at["height"] / 2)
    page.wait_for_selector(".tip >> text=/ %.* at most, .* % on average of 1 parts/")
    lit = page.evaluate(
        """([y, width]) => {
          const canvas = document.querySelector(".tracks canvas");
          const {data} = canvas.getContext("2d").getImageData(0, y, width, 1);
          return Array.from({length: width}, (_, at) => data[4 * at + 2] > 150).filter(Boolean).length;
        }""",
        [int(at["y"] - box["y"] + at["height"] - 4), int(box["width"])],
    )
    assert 0 < lit < box["width"] / 2  # one engine works a part of the time


def test_the_machine_and_the_timeline_select_in_each_other(page: Page, address: str) -> None:
    box = open_timeline(page, address, "ran", "open=*")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 70)
    page.wait_for_selector(".pane .note >> text=Busy at")
    page.wait_for_selector(".tip")  # a step of the critical path
    page.get_by_role("treeitem", name="pe_gemm").first.click()
    page.wait_for_url(lambda url: "select=sip0.cube0.pe0.pe_gemm" in url)
    page.wait_for_selector(".pane .note >> text=sip0.cube0.pe0.pe_gemm")
    pane = box_of(page.locator(".pane canvas"))
    note = page.locator(".pane .note")
    places = ((across, down) for down in (0.78, 0.74, 0.7, 0.66) for across in range(20, int(pane["width"]), 3))
    for across, down in places:
        page.mouse.move(pane["x"] + across, pane["y"] + down * pane["height"])
        if "pe_gemm" not in note.inner_text():
            break
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url(lambda url: "select=" in url and "pe_gemm" not in url)
    assert told(page)["select"] in note.inner_text()


def test_a_run_without_operations_machine_or_path_says_so(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/none/timeline")
    page.wait_for_selector("text=Nothing happened in this run")
    page.wait_for_selector(".absent >> text=run it again with this KernBench and --out")
    page.keyboard.press("w")
    page.keyboard.press("ArrowDown")
    page.keyboard.press(".")
    page.keyboard.press("Enter")
