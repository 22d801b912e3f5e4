"""The site of the documentation: its navigation, and the words by which its search finds pages."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]
APP = SimpleNamespace(srcdir=ROOT)
INDEX = "docs/README"


@pytest.fixture(scope="module")
def conf() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_conf", ROOT / "docs" / "conf.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


def read(page: str) -> str:
    return (ROOT / f"{page}.md").read_text(encoding="utf-8")


def with_words(conf: ModuleType, page: str) -> str:
    source = [read(page)]
    conf.add_words(APP, page, source)
    return source[0]


@pytest.mark.parametrize(
    ("word", "page", "heading"),
    [
        ("bottleneck", "docs/explain", "# Explanation of a run\n"),
        ("what-if", "docs/explain", "## What if\n"),
        ("critical path", "docs/explain", "## Critical path\n"),
        ("optimize", "docs/sweeps", "### Which points: `method`\n"),
        ("Perfetto", "docs/traces", "# Traces\n"),
        ("install", "README", "# KernBench\n"),
    ],
)
def test_a_word_that_people_type_leads_to_its_heading(conf: ModuleType, word: str, page: str, heading: str) -> None:
    before, _, after = with_words(conf, page).partition(f"! {word}")
    assert before.rpartition("\n```{index} ")[0].endswith(heading)
    assert after.partition("\n")[2].startswith("```\n")


def test_every_row_of_words_leads_to_a_page_once(conf: ModuleType) -> None:
    rows = conf._WORDS.findall(read(INDEX))
    table = read(INDEX).partition("## By word")[2]
    assert len(rows) == table.count("\n| ") - 1  # but for the head
    words = Counter(word.strip() for row in rows for word in row[0].split(","))
    assert [word for word, count in words.items() if count > 1] == []
    pages = {(Path("docs") / name).as_posix() for _, name, _ in rows}
    for page in pages:
        name = "README" if page == "docs/../README" else page
        count = sum((Path("docs") / other).as_posix() == page for _, other, _ in rows)
        assert with_words(conf, name).count("```{index} ") == count


def test_a_heading_that_is_gone_is_told(conf: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"^no heading has the anchor 'no-such', to which docs/README.md leads$"):
        conf._after_heading("# One\n", "no-such", "")


def test_the_navigation_has_the_pages_and_not_the_words(conf: ModuleType) -> None:
    source = [read(INDEX)]
    conf.add_navigation(APP, INDEX, source)
    added = source[0].removeprefix(read(INDEX))
    assert added.count("{toctree}") == read(INDEX).count("\n| page | subject |\n")
    assert ":caption: Start\n\n../README\nwhat-limits\n" in added
    assert "By word" not in added


@pytest.mark.slow
def test_the_search_has_the_words(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="the site is not built here: pip install kernbench[docs]")
    pages = "-Dinclude_patterns=docs/README.md,docs/explain.md"
    command = [sys.executable, "-m", "sphinx", "-Q", "-c", ROOT / "docs", pages, ROOT, tmp_path]
    subprocess.run(command, check=True)
    text = (tmp_path / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    explain = found["docnames"].index("docs/explain")
    for word in ("bottleneck", "what-if", "critical path", "roofline", "utilization"):
        ((page, _, is_main),) = found["indexentries"][word]
        assert (page, is_main) == (explain, True)
