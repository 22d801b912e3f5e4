"""Fixtures of tests in a real browser, the Chromium of this computer; an error on a page's console is a failure."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page

FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
FLAGS += " --disable-component-update --disable-sync"
# One process draws all pages: a new one for each address of a server took a quarter of the time of these tests.
FLAGS += " --renderer-process-limit=1 --disable-site-isolation-trials"
FLAGS += " --disable-features=IsolateOrigins,site-per-process,ProactivelySwapBrowsingInstance,BackForwardCache"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One for all tests of a process: to start it takes as long as a test."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium (Debian: apt install chromium)")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=FLAGS.split())
        yield started
        started.close()


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A window for all tests. The viewer and reports store nothing in a browser, and each server has an address of its own."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="dark")
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """An empty page: that of the test before, since a new one needs a new process; but for one that had problems."""
    page = context.pages[0] if context.pages else context.new_page()
    problems: list[str] = []

    def note_message(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(message.text)

    def note_dialog(dialog: Dialog) -> None:
        problems.append(f"a script of a name ran: {dialog.message}")
        dialog.dismiss()

    listeners = {
        "console": note_message,
        "pageerror": lambda error: problems.append(str(error)),
        "dialog": note_dialog,
    }
    for event, listener in listeners.items():
        page.on(event, listener)  # type: ignore[call-overload]
    yield page
    page.wait_for_function("true")  # after which all that has happened before has been told
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    if problems:
        page.close()
    else:
        page.unroute_all()
        page.goto("about:blank")
    assert problems == []
