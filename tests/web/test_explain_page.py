"""The explain view and the panel of a point in a real browser, with jobs that clicks start."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kernbench.web.jobs import KERNBENCH
from kernbench.web.run_jobs import RunJobs
from kernbench.web.server import make_server
from kernbench.web.sources import Sources
from tests.web.job_runs import write_command, write_run
from tests.web.sweeps import write_sweep
from tests.web.test_page import OBJECTIVES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.slow


@contextmanager
def serve(*given: str, command: Sequence[str] = KERNBENCH) -> Iterator[str]:
    """The address of a viewer of these sources, whose jobs run this command."""
    sources = Sources(given)
    with make_server(sources, 0, RunJobs(sources, command)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def read_result(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "result.json").read_text(encoding="utf-8"))


def test_a_run_is_explained_on_demand_and_put_beside_another(page: Page, tmp_path: Path) -> None:
    """With the command itself, in a process of its own."""
    given = [write_run(tmp_path / "plain"), write_run(tmp_path / "other", explained=True)]
    with serve(*map(str, given)) as address:
        page.goto(f"{address}#/run/plain/explain")
        page.get_by_role("button", name="Explain this run").click()
        page.wait_for_selector(".job progress")
        page.wait_for_selector("section[aria-label='What if'] >> text=pe_gemm.tflops_f16 8 → 16", timeout=60_000)
        verdict = page.get_by_label("What bound the run")
        assert "of the kernels' time" in verdict.inner_text()
        ran = read_result(tmp_path / "plain")
        said = f"bottleneck\n{ran['bottleneck']} {ran['bottleneck_utilisation']:.1%} busy".replace("%", " %")
        assert (
            said in verdict.inner_text()
        )  # what the command line calls so: no DMA channel, though one is taken longest
        least = page.get_by_label("Least time at each class of parts, of the kernels' time")
        kinds = [one["kind"] for one in ran["explain"]["roofline"]["ceilings"]]
        assert least.locator("div > span:first-child").all_inner_texts() == kinds
        lanes = page.get_by_label("The critical path by time, a lane for each of").get_attribute("aria-label")
        assert lanes is not None
        assert next(iter(ran["explain"]["critical_path"])) in lanes
        page.locator("section[aria-label='Utilisation'] button.part").first.click()
        page.wait_for_url(lambda url: "/machine?select=" in url)
        page.go_back()
        page.goto(f"{address}#/run/plain/explain")
        page.locator(".pieces li button").first.click()
        page.wait_for_url(lambda url: "/timeline?" in url and "time=" in url)
        page.goto(f"{address}#/run/plain/explain")
        page.get_by_label("Beside it").select_option("other")
        page.wait_for_selector("text=Both have the same latency.")
        page.wait_for_url(lambda url: "with=other" in url)
        page.keyboard.press("Escape")
        page.wait_for_selector("section[aria-label='Two runs']", state="detached")


def test_a_point_is_run_from_its_panel_cancelled_and_opened(page: Page, tmp_path: Path) -> None:
    swept = write_sweep(tmp_path / "swept", bench="gemm-single-pe", objectives=OBJECTIVES)
    command = write_command(tmp_path / "command")
    (tmp_path / "command" / "waits").touch()
    with serve(str(swept), command=command) as address:
        page.goto(f"{address}#/sweep/swept")
        page.locator(".table tbody tr").nth(4).click()
        page.get_by_role("button", name="Run this point").click()
        page.get_by_role("button", name="Cancel").click()
        page.wait_for_selector("text=Cancelled; nothing was kept.")
        (tmp_path / "command" / "waits").unlink()
        page.get_by_role("button", name="Run this point").click()
        page.get_by_label("What bound the run").wait_for()
        page.wait_for_url(lambda url: "/run/swept" in url)
        page.go_back()
        page.get_by_role("link", name="Open the run").wait_for()


def test_progress_is_shown_before_the_server_has_answered(page: Page, tmp_path: Path) -> None:
    with serve(str(write_run(tmp_path / "plain"))) as address:
        page.goto(f"{address}#/run/plain/explain")
        page.route("**/api/jobs/start", lambda route: held.append(route))
        held: list[Route] = []
        page.get_by_role("button", name="Explain this run").click()
        page.wait_for_selector(".job progress")
        assert page.locator(".job button", has_text="Cancel").is_disabled()
        held[0].continue_()
        page.locator(".job button:enabled", has_text="Cancel").click()
        page.wait_for_selector("text=Cancelled; nothing was kept.")


def test_a_view_whose_code_does_not_come_says_so(browser: Browser, tmp_path: Path) -> None:
    """The browser tells of the request that failed, so the page has no watch on its console."""
    with serve(str(write_run(tmp_path / "plain"))) as address:
        page = browser.new_page()
        page.route("**/explain-*.js", lambda route: route.abort())
        page.goto(f"{address}#/run/plain/explain")
        page.wait_for_selector("[role=alert] >> text=Is `kernbench web` still running? Load the page again.")
        page.keyboard.press("v")
        page.wait_for_selector(".tracks canvas")
        page.close()


def test_an_error_of_a_job_is_shown_as_a_sentence(page: Page, tmp_path: Path) -> None:
    command = write_command(tmp_path / "command", fails=True)
    with serve(str(write_run(tmp_path / "plain")), command=command) as address:
        page.goto(f"{address}#/run/plain/explain")
        page.get_by_role("button", name="Explain this run").click()
        page.wait_for_selector("[role=alert] >> text=the bench is gone")
        page.get_by_role("button", name="Explain this run").wait_for()
