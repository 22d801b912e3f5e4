"""The timeline of a run of 1,061,464 operations in Chromium: until it is seen, until it answers, and its frames.

Each round is a new viewer and a new page, so the op log is read from the disk again. Without Chromium this is skipped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import kernbench
from benches.perf.figures import Figures
from kernbench.web.server import make_server
from kernbench.web.sources import Sources

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LARGE = {"M": 2048, "N": 2048, "K": 4096}
CANVAS, ROUNDS, MOVES = ".tracks canvas", 3, 60
FIRST_PAINT = """() => new Promise((seen) => {
  const look = () => {
    const canvas = document.querySelector(".tracks canvas");
    if (document.querySelector(".name") && hasSlices(canvas)) seen(performance.now());
    else requestAnimationFrame(look);
  };
  const hasSlices = (canvas) => {
    const pixels = canvas.getContext("2d").getImageData(0, canvas.height / 4, canvas.width, canvas.height / 2).data;
    return new Set(new Uint32Array(pixels.buffer)).size > TONES;
  };
  look();
})""".replace("TONES", "16")  # empty rows have three tones; slices have more, by how much of a pixel they cover
WATCH = """(kind) => {
  window.answers = [];
  window.frames = [];
  let last = 0;
  const step = (now) => {
    if (last) frames.push(now - last);
    last = now;
    if (window.frames) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
  document.querySelector(".tracks canvas").addEventListener(kind, ({ timeStamp }) =>
    requestAnimationFrame(() => requestAnimationFrame(() => answers.push(performance.now() - timeStamp))));
}"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "large"
    kernbench.run("matmul-composite", "sip_2x4x4", parameters=LARGE).write(out)
    return out


def watch(browser: Browser, directory: Path, act: Callable[[Page], None] | None, kind: str) -> dict[str, np.ndarray]:
    """First paint in s; while something is done on the page, times in ms between frames and from an event to its frame."""
    with make_server(Sources([str(directory)])) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        try:
            page.goto(f"http://127.0.0.1:{server.server_port}/#/run/large/timeline?open=*", wait_until="commit")
            painted = page.evaluate(FIRST_PAINT) / 1000
            page.wait_for_load_state("networkidle")
            page.evaluate(WATCH, kind)
            if act is not None:
                act(page)
            page.wait_for_function("answers.length > 0")
            found = page.evaluate("[answers, frames, window.frames = null]")
        finally:
            page.close()
            server.shutdown()
            thread.join()
    return {"painted": np.array([painted]), "answers": np.array(found[0]), "frames": np.array(found[1])}


def zoom_and_pan(page: Page) -> None:
    """In and out with the wheel, then a drag."""
    box = page.locator(CANVAS).bounding_box()
    assert box
    x, y = box["x"] + box["width"] * 0.6, box["y"] + 300
    page.mouse.move(x, y)
    for move in range(MOVES):
        page.mouse.wheel(0, -80 if move < MOVES / 2 else 80)
    page.mouse.down()
    for move in range(MOVES):
        page.mouse.move(x - 5 * move, y + move % 3)
    page.mouse.up()


def test_timeline(figures: Figures, browser: Browser, directory: Path) -> None:
    """First paint, and 120 steps of zooming and panning with all groups open."""
    found = []

    def one_round() -> float:
        found.append(watch(browser, directory, zoom_and_pan, "wheel"))
        return found[-1]["painted"].item()

    (painted,) = figures.side_by_side(one_round, rounds=ROUNDS)
    answers, frames = (np.concatenate([one[name] for one in found]) for name in ("answers", "frames"))
    figures.show("timeline of 1,061,464 operations: first paint", painted, "s", "< 1")
    figures.show("timeline: from a wheel step to its frame, 95th percentile", np.percentile(answers, 95), "ms", "< 200")
    figures.show("timeline: between frames, median while zooming and panning", frames, "ms", "≤ 16.7")
    figures.show("timeline: between frames, 95th percentile", np.percentile(frames, 95), "ms")
