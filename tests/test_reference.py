"""The reference pages say what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference import PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_is_what_would_be_generated(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == PAGES[page](), "run python -m tests.reference, and read the difference"


def test_the_pages_have_what_they_are_for() -> None:
    texts = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
    assert "| `sips.wiring` | switch, direct |  | `switch` |" in texts["reference-fields.md"]
    assert (
        "| `channel_gbs` | number, 0.001 to 1,000,000 | GB/s |  | bandwidth of one pseudo-channel |"
        in texts["reference-fields.md"]
    )
    assert "## kernbench check" in texts["reference-commands.md"]
    assert "| `--diff` | Show the fields in which two machines" in texts["reference-commands.md"]
