"""Runs of a Tanto program and of a graph of tasks in a real browser: the same views, with the names of threads and cores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kernbench.cli.main import main
from tests.tanto.support import COPY_IN, COPY_OUT, buffer, kernel, pipe
from tests.web.test_explain_page import serve

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A viewer of two runs of a graph, and of a program on a chip with and without a faster network; started where they are."""
    folder = tmp_path_factory.mktemp("systems")
    (folder / "in.cpp").write_text(COPY_IN)
    (folder / "out.cpp").write_text(COPY_OUT)
    kernels = [
        kernel(0, "in.cpp", [{"g": 0}, {"p": 2}, 2]),
        kernel(1, "out.cpp", [{"g": 1}, {"p": 2}, 2]),
    ]
    program = {"globals": [buffer(0, 2048), buffer(1, 2048)], "pipes": [pipe(2, 0)], "kernels": kernels}
    (folder / "copy.json").write_text(json.dumps(program))
    graph = ["pto", "run", "vector_example", "--case", "Small", "-t", "ascend_tiny", "--out"]
    tanto = ["tanto", "run", "copy.json", "--kernels", ".", "-t", "tensix_tiny", "--out"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main([*graph, "graph"]) == 0
        assert main([*graph, "slow", "--set", "topology.pto_runtime.switch_ns=2000"]) == 0
        assert main([*tanto, "chip"]) == 0
        with serve("graph", "slow", "chip") as found:
            yield found


def test_a_graph_has_its_threads_cores_and_tasks(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/graph/timeline?open=*")
    page.wait_for_selector("h1 >> text=vector-example")
    for row in ("scheduler0", "orchestrator", "aiv0.vector"):
        page.wait_for_selector(f".name >> text={row}")
    for operation in ("dispatch", "lookup", "ADD_SCALAR"):
        page.get_by_role("button", name=operation, exact=True).or_(page.locator(f"text={operation}")).first.wait_for()
    page.goto(f"{address}#/run/graph/machine?select=cluster0.aiv0")
    page.wait_for_selector(".key.ramp")
    page.wait_for_selector("h2 >> text=cluster0.aiv0")
    page.wait_for_selector(".now")


def test_a_graph_is_explained_with_what_its_path_is_spent_on(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/graph/explain")
    page.wait_for_selector("text=scheduler: dispatch")
    page.get_by_role("button", name="Simulate each field twice as fast").click()
    page.wait_for_selector("section[aria-label='What if'] >> text=hand-over", timeout=60_000)
    page.get_by_label("Beside it").select_option("slow")
    page.wait_for_selector("section[aria-label='Two runs'] >> text=pto_runtime.switch_ns")


def test_a_program_is_seen_and_explained_on_demand(page: Page, address: str) -> None:
    page.goto(f"{address}#/run/chip/timeline?open=*")
    page.wait_for_selector("h1 >> text=copy.json")
    for row in ("reader", "writer", "niu1.read"):
        page.wait_for_selector(f".name >> text={row}")
    page.goto(f"{address}#/run/chip/machine?select=worker[1][1].l1")
    page.wait_for_selector(".key.ramp")
    page.goto(f"{address}#/run/chip/explain")
    page.get_by_role("button", name="Explain this run").click()
    page.wait_for_selector("section[aria-label='What if'] >> text=tensix_noc.gbs", timeout=60_000)
