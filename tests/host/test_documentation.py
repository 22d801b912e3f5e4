"""The Python of the pages about benches runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernbench import run
from kernbench.host.bench import load_file

ROOT = Path(__file__).resolve().parents[2]


def block(page: str, tmp_path: Path) -> Path:
    """The first Python block of a page as a file."""
    found = re.search(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    path = tmp_path / "block.py"
    path.write_text(found[1])
    return path


@pytest.mark.slow
def test_the_page_about_the_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_file(block("docs/host.md", tmp_path))[0].name == "scale"
    assert capsys.readouterr().out.splitlines()[0].endswith("True")


def test_the_page_about_benches(tmp_path: Path) -> None:
    assert run(block("benches/README.md", tmp_path), "tiny", verify=True).verified is True
