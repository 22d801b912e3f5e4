"""Links between pages lead somewhere: to a file, and to a heading where they name one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (".", "docs", "docs/decisions", "docs/tutorials", "benches", "models", "sweeps")
PAGES = [page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md"))]
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the built pages name them."""
    headings = re.findall(r"^#+ (.*)$", _FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-") for heading in headings}


def broken(page: Path) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    for link in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `word`\n[a](#one-word) [b](#two) [c](no.md) [d](https://no.such) [e](page.md#one-word)\n")
    assert list(broken(page)) == ["#two", "no.md"]


def test_the_index_shows_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    shown = {(index.parent / link).resolve() for link in _LINK.findall(index.read_text(encoding="utf-8"))}
    below = {page for page in PAGES if page.parent.name == "decisions"}  # these have an index of their own
    assert {page for page in PAGES if page.parent.name == "docs"} - below - {index} <= shown
