"""The Python of the pages about benches runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernbench import run
from kernbench.runs.bench import load_file
from tests.readme import make_checkout, read_steps, run_step, shows

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


@pytest.mark.slow
def test_the_page_about_collectives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_file(block("docs/collectives.md", tmp_path))[0].name == "sum-all"
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in printed[:2]] == [["all_reduce", "lrab_hierarchical_allreduce"]] * 2
    assert printed[2] == "True"


def test_the_page_about_a_first_change(tmp_path: Path) -> None:
    assert run(block("docs/first-change.md", tmp_path), "tiny", parameters={"n": 1000}, verify=True).verified is True


def test_the_page_about_benches(tmp_path: Path) -> None:
    assert run(block("benches/README.md", tmp_path), "tiny", verify=True).verified is True


@pytest.mark.slow
def test_every_step_of_the_page_on_explanations(tmp_path: Path) -> None:
    explained, error_bars, code = read_steps((ROOT / "docs" / "explain.md").read_text(encoding="utf-8"))
    make_checkout(tmp_path)
    assert shows(explained, run_step(explained, tmp_path))
    assert shows(error_bars, run_step(error_bars, tmp_path))
    assert run_step(code, tmp_path).startswith("{'gemm': ")
