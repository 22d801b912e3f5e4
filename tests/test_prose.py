"""Docstrings say what is returned or done, in one main clause: turns of phrase that hide it become fewer, never more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.own_files import ROOT

# The most that docstrings may have of each. Whoever needs one more writes one of them, or another, plainly; whoever has taken
# some away puts the lower number here.
MOST = {
    r"so many": 31,
    r"told": 19,
    r"as far as": 17,
    r"of which": 31,
    r"which (?:has|have|is|are)|as \w+ (?:has|is)": 95,
    r"stands?": 80,
    r"(?:is|are) (?:no|none)": 152,
}


def docstrings(file: Path) -> Iterator[str]:
    """The docstrings of a module, its classes and its functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield ast.get_docstring(node) or ""


def count(pattern: str, texts: list[str]) -> int:
    """How often a turn of phrase is in texts, in words of its own, also over the end of a line."""
    found = re.compile(r"\b(?:" + pattern.replace(" ", r"\s+") + r")\b", re.IGNORECASE)
    return sum(len(found.findall(text)) for text in texts)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """All docstrings of the product."""
    files = [file for package in ("kernbench", "kernels_jit") for file in sorted((ROOT / package).rglob("*.py"))]
    return [text for file in files if "page" not in file.parts for text in docstrings(file)]


@pytest.mark.parametrize("pattern", MOST)
def test_docstrings_become_plainer(pattern: str, texts: list[str]) -> None:
    found = count(pattern, texts)
    assert found <= MOST[pattern], (
        f"docstrings have {found} of {pattern!r}, {MOST[pattern]} are the most: write it plainly"
    )


def test_phrases_are_counted_as_words_over_lines() -> None:
    assert count(r"so many", ["So many, so\n    many", "also many, so manyfold"]) == 2
    assert count(r"(?:is|are) (?:no|none)", ["There is none. These are no rows.", "is not, is north"]) == 2
