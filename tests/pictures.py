"""The pictures of the tutorials: `python -m tests.pictures` runs what they show and photographs the viewer.

It needs Chromium. The pictures lie in `docs/images`; nothing compares them, since fonts differ between computers.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.chromium import FLAGS
from tests.readme import ROOT, Step, make_checkout, read_steps, run_step

IMAGES = ROOT / "docs" / "images"
SIZE = {"width": 1280, "height": 800}
# The picture, the tutorial whose steps it needs, the directory of results, and what follows its name in the address.
PICTURES = {
    "web-sweep": ("architect", "matmul-composite", ""),
    "web-timeline": ("kernel-author", "in-turn", "/timeline"),
    "web-machine": ("collective-author", "pass-along", "/machine?colour=utilisation&path=1"),
}


def main() -> None:
    """Make all pictures."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS.split())
        for name, (page, results, rest) in PICTURES.items():
            checkout = Path(folder) / name
            checkout.mkdir()
            make_checkout(checkout)
            for step in _steps(page):
                run_step(step, checkout)
            kind = "run" if rest else "sweep"
            with _serve(checkout / "results" / results) as address:
                view = browser.new_page(viewport=SIZE, color_scheme="light")
                view.goto(f"{address}#/{kind}/{quote(results)}{rest}")
                view.wait_for_selector("canvas")
                view.wait_for_timeout(3000)  # drawings settle
                view.screenshot(path=IMAGES / f"{name}.png")
                view.close()
        browser.close()


def _steps(page: str) -> list[Step]:
    steps = read_steps((ROOT / "docs" / "tutorials" / f"{page}.md").read_text(encoding="utf-8"))
    return [step for step in steps if step.kind != "figures"]  # those are read, not done


@contextmanager
def _serve(directory: Path) -> Iterator[str]:
    from kernbench.web.server import make_server
    from kernbench.web.sources import Sources

    server = make_server(Sources([str(directory)]))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


if __name__ == "__main__":
    main()
