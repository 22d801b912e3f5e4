"""docs/conformance.md: every row has a test, and every test is there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "conformance.md"
ROWS = [line for line in PAGE.read_text().splitlines() if line.startswith("|") and not line.startswith("|---")]
STATEMENTS = [line for line in ROWS if not line.endswith("| held by |")]


@cache
def find_tests(file: Path) -> frozenset[str]:
    return frozenset(
        node.name for node in ast.parse(file.read_text()).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    )


def test_there_are_rows() -> None:
    assert len(STATEMENTS) > 50


@pytest.mark.parametrize("row", STATEMENTS)
def test_a_row_names_tests_that_exist(row: str) -> None:
    held = row.strip("|").split("|")[-1]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", held)
    assert named, f"the row has no test: {row}"
    for file, test in named:
        assert test in find_tests(ROOT / file), f"{file} has no {test}"


def test_no_statement_stands_twice() -> None:
    said = [tuple(cell.strip() for cell in row.strip("|").split("|")[:-1]) for row in STATEMENTS]
    continued = [cells for cells in said if not cells[-1].startswith("…")]
    assert len(set(continued)) == len(continued)
