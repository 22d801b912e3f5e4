"""The views of a run in a real browser: tabs, playback, colours and the critical path. An error on its console is a failure."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kernbench.web.server import make_server
from kernbench.web.sources import Sources
from tests.web.runs import write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("runs")
    ran, old = write_run(folder / "ran"), folder / "old"
    old.mkdir()
    for name in ("result.json", "oplog.parquet"):
        shutil.copy(ran / name, old)
    unnoted = shutil.copytree(ran, folder / "unnoted")
    result = json.loads((unnoted / "result.json").read_text())
    del result["request"]["set"], result["sha256"]
    (unnoted / "result.json").write_text(json.dumps(result))
    half = shutil.copytree(ran, folder / "half")
    (half / "transfers.parquet").unlink()
    with make_server(Sources([str(path) for path in (ran, old, half, unnoted)])) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def time_shown(page: Page) -> str:
    return page.locator(".playback output").inner_text()


def ready(page: Page) -> None:
    """Wait until colours and the critical path are there."""
    page.wait_for_selector(".key.ramp")
    page.wait_for_selector(".now")


def test_the_header_tells_what_was_set_and_of_an_earlier_run_all(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/machine")
    told = page.locator(".run .title .note").inner_text()
    assert told.endswith(" · M=32 · K=64 · N=32 · noc.gbs=99 GB/s")
    page.goto(f"{address}#/run/unnoted/machine")
    page.wait_for_selector(".title .note >> text=dtype=f16")


def test_tabs_keep_the_part_and_the_time(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/machine?select=sip0.cube0.pe0.pe_gemm&now=200&time=100..400")
    page.wait_for_selector("h1 >> text=gemm-single-pe")
    page.get_by_role("tab", name="Machine").and_(page.locator("[aria-selected=true]")).wait_for()
    page.get_by_role("tab", name="Explain").click()
    page.wait_for_url(lambda url: "#/run/ran/explain?" in url)
    page.keyboard.press("V")
    page.wait_for_selector("h2 >> text=sip0.cube0.pe0.pe_gemm")
    kept = ("/machine?", "time=100..400", "now=200", "select=sip0.cube0.pe0.pe_gemm")
    page.wait_for_url(lambda url: all(part in url for part in kept))


def test_the_time_is_moved_played_and_paused(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/machine")
    ready(page)
    assert time_shown(page).startswith("0–")
    slider = page.get_by_label("Time", exact=True)
    slider.press("PageUp")
    page.wait_for_url(lambda url: "now=" in url)
    moved = page.url
    page.keyboard.press(".")
    page.wait_for_url(lambda url: url != moved)
    page.keyboard.press(",")
    page.wait_for_url(moved)
    page.keyboard.press("Space")
    page.get_by_role("button", name="Pause").wait_for()
    before = time_shown(page)
    page.wait_for_function("text => document.querySelector('.playback output').innerText !== text", arg=before)
    assert page.url == moved  # while it plays
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play").wait_for()
    page.wait_for_url(lambda url: url != moved)
    now = float(page.url.partition("now=")[2].partition("&")[0])
    page.wait_for_function("now => document.querySelector('.playback output').innerText.startsWith(`${now}–`)", arg=now)
    stopped = time_shown(page)
    page.reload()
    ready(page)
    assert time_shown(page) == stopped
    page.get_by_role("button", name="Whole run").click()
    page.wait_for_url(lambda url: "now=" not in url)


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("button", "All"),
        ("button", "Whole range"),
        ("combobox", "Window"),
        ("checkbox", "Critical path"),
        ("tab", "Explain"),
    ],
)
def test_space_plays_wherever_the_focus_is(role: Any, name: str, page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/machine?now=20&time=10..400")
    ready(page)
    page.get_by_role(role, name=name, exact=True).focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Pause").wait_for()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play").wait_for()
    assert "/machine?" in page.url
    assert "time=10..400" in page.url
    search = page.locator("input[type=search]")
    search.focus()
    page.keyboard.press("Space")
    assert search.input_value() == " "
    assert page.get_by_role("button", name="Pause").count() == 0


def test_the_list_of_parts_closes_and_comes_back(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/machine")
    ready(page)
    drawing, listed = page.locator(".drawing"), page.get_by_label("Parts of the machine")
    narrow = drawing.bounding_box()
    page.get_by_role("button", name="Close the parts").click()
    listed.wait_for(state="detached")
    wide = drawing.bounding_box()
    assert narrow
    assert wide
    assert wide["width"] > narrow["width"] + 300
    page.get_by_role("button", name="Parts", exact=True).click()
    listed.wait_for()
    page.keyboard.press("Escape")
    listed.wait_for(state="detached")


def test_playing_ends_with_the_run(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/machine")
    ready(page)
    page.get_by_label("Time", exact=True).press("End")
    page.keyboard.press(",")
    page.keyboard.press(",")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_role("button", name="Play").wait_for()


def test_colours_and_the_path_are_chosen_and_in_the_address(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/machine?select=sip0.cube0.pe0.pe_gemm")
    ready(page)
    legend = page.locator(".key.ramp")
    assert "100 %" in legend.inner_text()
    assert "busy, at most" in page.locator("aside .told").inner_text()
    page.get_by_label("Colour by").select_option("bytes")
    page.wait_for_url(lambda url: "by=bytes" in url)
    assert "GB/s" in legend.inner_text()
    page.locator(".drawing canvas").press("c")
    page.wait_for_url(lambda url: "by=power" in url)
    assert "dynamic power of a part or link" in legend.inner_text()
    assert "W" in legend.inner_text()
    assert "drawn, at most" in page.locator("aside .told").inner_text()
    page.locator(".drawing canvas").press("c")
    legend.wait_for(state="detached")
    page.wait_for_url(lambda url: "by=function" in url)
    page.locator(".drawing canvas").press("c")
    legend.wait_for()
    page.wait_for_url(lambda url: "by=" not in url)
    assert "Critical path" in page.locator(".now").inner_text()
    page.keyboard.press("p")
    page.locator(".now").wait_for(state="detached")
    page.reload()
    legend.wait_for()
    assert not page.get_by_label("Critical path").is_checked()


def test_the_busiest_parts_are_listed_beside_the_drawing(page: Page, address: str) -> None:
    """Of the time that is shown, DMA channels apart: they are taken while others work."""
    page.goto(f"{address}#/run/ran/machine")
    ready(page)
    working, taken = page.locator(".busiest ol").all()
    parts, shares = working.locator("button").all_inner_texts(), working.locator("strong").all_inner_texts()
    assert 1 < len(parts) <= 10
    assert not any("pe_dma." in part for part in parts)
    assert all("pe_dma." in part for part in taken.locator("button").all_inner_texts())
    figures = [float(share.removesuffix(" %")) for share in shares]
    assert figures == sorted(figures, reverse=True)
    assert "alike" in working.inner_text()  # eight channels serve the same stripes
    page.get_by_label("Colour by").select_option("bytes")
    page.locator(".busiest h2", has_text="Most bytes").wait_for()
    page.locator(".busiest button:enabled").first.click()
    page.wait_for_url(lambda url: "select=sip0." in url)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_idle_fades_and_what_is_busy_shines_and_is_wide(browser: Browser, address: str, scheme: str) -> None:
    """A colour stands out by how far it is from that of the ground; a part by how many pixels have such colours."""
    page = browser.new_page(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{address}#/run/ran/machine")
    ready(page)
    stops = page.evaluate(
        """() => {
          const written = document.querySelector(".key.ramp i").style.background;
          const colours = [...written.matchAll(/rgb\\((\\d+), (\\d+), (\\d+)\\)/g)];
          const ground = getComputedStyle(document.querySelector(".drawing")).backgroundColor.match(/\\d+/g).map(Number);
          return colours.map((one) => Math.hypot(...ground.map((channel, at) => channel - Number(one[at + 1]))));
        }"""
    )
    assert stops[-1] > 4 * stops[0]
    assert stops == sorted(stops)
    wide = {}
    for name, query in (("idle", "now=0"), ("busy", "time=100..400")):
        page.goto(f"{address}#/run/ran/machine?path=no&{query}")
        page.wait_for_selector(".key.ramp")
        page.wait_for_selector(".busiest")
        page.wait_for_timeout(100)
        wide[name] = page.evaluate(
            """() => {
              const canvas = document.querySelector(".drawing canvas");
              const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
              let found = 0;
              for (let at = 0; at < data.length; at += 4) found += Math.abs(data[at + 2] - data[at]) > 60;
              return found;
            }"""
        )
    assert wide["busy"] > 2 * wide["idle"]
    page.close()


def test_the_path_is_drawn_by_time_and_a_click_goes_there(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/machine")
    ready(page)
    chart = page.get_by_label("The critical path by time, a lane for each of")
    shares = [float(text.split()[-2]) for text in page.locator(".path-by-time li").all_inner_texts()]
    assert sum(shares) == pytest.approx(100, abs=0.5)
    box = chart.bounding_box()
    assert box
    times = []
    for part in (0.2, 0.8):
        chart.click(position={"x": part * box["width"], "y": 10})
        page.wait_for_url(lambda url: "now=" in url and (not times or f"now={times[-1]}" not in url))
        times.append(page.url.partition("now=")[2].partition("&")[0])
        page.locator(".now", has_text=" ns").wait_for()
    assert float(times[0]) < float(times[1])


NAMED = """() => {
  const found = [], draw = CanvasRenderingContext2D.prototype.fillText;
  window.named = found;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    if (this.canvas.closest(".drawing")) found.push([text, x, y, this.measureText(text).width, this.textAlign]);
    draw.call(this, text, x, y, ...rest);
  };
}"""
LINES = """([text, x, y, width, align]) => {
  const canvas = document.querySelector(".drawing canvas"), ratio = devicePixelRatio;
  const left = align === "center" ? x - width / 2 : x, top = align === "center" ? y - 6 : y - 12;
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(left * ratio, top * ratio, width * ratio, 12 * ratio);
  return Array.from({length: data.length / 4}, (_, at) => data[4 * at] - data[4 * at + 1]).filter((red) => red > 60).length;
}"""


def test_names_do_not_lie_on_lines(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/machine?colour=function&path=1")
    ready(page)
    page.evaluate(NAMED)
    page.locator(".drawing canvas").press("+")
    page.wait_for_function("() => window.named.some(([text]) => text === 'cube0')")
    last = {text: [text, *rest] for text, *rest in page.evaluate("() => window.named")}
    for name in ("sip0", "io0", "cube0", "cube1"):
        assert page.evaluate(LINES, last[name]) == 0, name  # no edge of the critical path is seen through it


def test_the_path_says_where_it_is_now(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/machine?now=1")
    ready(page)
    page.wait_for_selector(".now >> text=this time is not on it")
    begins = page.locator(".now").inner_text().split("pieces, ")[1].split("–")[0]
    page.goto(f"{address}#/run/ran/machine?now={float(begins) + 1}")
    page.wait_for_selector(".now >> text= at ")
    assert " ns" in page.locator(".now").inner_text()


def test_a_part_under_the_pointer_tells_its_use(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/machine")
    ready(page)
    page.keyboard.press("/")
    page.keyboard.type("cube0 pe0 scheduler")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2 >> text=sip0.cube0.pe0.pe_scheduler")
    box = page.locator(".drawing canvas").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".hover >> text=not busy in this run").or_(page.locator(".hover .told svg")).wait_for()


def test_a_run_of_an_earlier_version_says_what_would_make_its_machine(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/old/machine")
    page.wait_for_selector(".message.error >> text=machine_nodes.parquet are not in")
    page.wait_for_selector("text=run it again with this KernBench and --out")


def test_what_is_missing_leaves_the_drawing(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/half/machine")
    page.wait_for_selector(".banner >> text=transfers.parquet is not in")
    page.wait_for_selector(".drawing canvas")
    assert page.get_by_role("button", name="Play").is_disabled()


def test_where_the_energy_went_is_shown_without_an_explanation(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/ran/explain")
    card = page.locator("section[aria-label='Energy']")
    assert "static" in card.inner_text()
    assert "W in the mean, at most" in card.inner_text()
    assert "hbm" in (card.get_by_role("img").get_attribute("aria-label") or "")
    page.wait_for_selector("section[aria-label='Energy by part'] >> text=pe_tcm")
    page.wait_for_selector("section[aria-label='Dynamic energy by operation'] >> text=gemm (gemm)")
    page.wait_for_selector("section[aria-label='Dynamic energy by line of the kernels'] >> text=tl.dot")
    page.goto(f"{address}#/run/old/explain")
    page.wait_for_selector("text=Not explained yet")
    assert page.locator("section[aria-label='Energy']").count() == 0
