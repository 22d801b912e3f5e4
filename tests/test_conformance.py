"""The pages of conformance and docs/guarantees.md: every row has a test, and every test is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMES = ("conformance.md", "guarantees.md", "tanto-conformance.md", "pto-conformance.md", "triton-conformance.md")
COUNTED = [name for name in NAMES if name != "guarantees.md"]  # those of documents
PAGES = [(ROOT / "docs" / name).read_text() for name in NAMES]
NO_TABLE = "What is not promised"
TEST = r"`(tests/[\w/]+\.py)::(test_\w+)`"
HELD = re.compile(rf"{TEST}(, {TEST})*")


def read_rows(page: str) -> list[list[str]]:
    """The cells of every row of every table whose last column is `held by`; without heads and rules."""
    lines = [line.strip().strip("|").split("|") for line in page.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in cells] for cells in lines if set("".join(cells)) != {"-"}]
    return [cells for cells in rows if cells[-1] != "held by"]


ROWS = [row for page in PAGES for row in read_rows(page)]


@cache
def find_tests(file: Path) -> frozenset[str]:
    return frozenset(node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef))


def find_problems(held: str) -> list[str]:
    """What is wrong with a cell that names tests."""
    if not HELD.fullmatch(held):
        return [f"{held!r} is no list of tests, each like `tests/tl/language/test_math.py::test_operators`"]
    return [
        f"{file} has no {test}" if (ROOT / file).is_file() else f"there is no {file}"
        for file, test in re.findall(TEST, held)
        if not (ROOT / file).is_file() or test not in find_tests(ROOT / file)
    ]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_row_names_tests_that_exist(page: str) -> None:
    assert [(row[:-1], problem) for row in read_rows(page) for problem in find_problems(row[-1])] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_section_has_rows_and_every_table_its_columns(page: str) -> None:
    for section in page.split("\n## ")[1:]:
        name, *lines = section.splitlines()
        if name == NO_TABLE:
            continue
        table = [line.count("|") for line in lines if line.startswith("|")]
        assert len(table) > 2, name
        assert len(set(table)) == 1, name


@pytest.mark.parametrize("name", COUNTED)
def test_the_statements_that_hold_deviate_and_are_missing_are_counted(name: str) -> None:
    page = PAGES[NAMES.index(name)]
    rows = {part.partition("\n")[0]: len(read_rows(part)) for part in page.split("\n## ")[1:]}
    deviate, missing = rows.pop("What deviates"), rows.pop("What is missing")
    assert f"Of the statements {sum(rows.values())} hold, {deviate} deviate and {missing} are missing." in page


@pytest.mark.parametrize("name", COUNTED)
def test_what_deviates_or_is_missing_says_what_is_here_and_why(name: str) -> None:
    sections = PAGES[NAMES.index(name)].split("\n## ")
    for section in sections[-2:]:
        assert section.startswith(("What deviates", "What is missing"))
        assert {len(row) for row in read_rows(section)} == {3}


def test_no_statement_stands_twice() -> None:
    said = [tuple(row[:-1]) for row in ROWS if not row[-2].startswith("…")]
    assert sorted(set(said)) == sorted(said)


def test_rows_that_go_on_follow_a_statement() -> None:
    for section in (
        section for page in PAGES for section in page.split("\n## ")[1:] if not section.startswith(NO_TABLE)
    ):
        assert not read_rows(section)[0][-2].startswith("…")


@pytest.mark.parametrize("held", ["", "`tests/test_tiny.py`", "`tests/x.py::test_y` and so on", "tests/x.py::test_y"])
def test_what_is_no_list_of_tests(held: str) -> None:
    assert read_rows(f"| statement | held by |\n|---|---|\n| It is so | {held} |") == [["It is so", held]]
    assert "is no list of tests" in find_problems(held)[0]


def test_tests_that_are_not_there_are_named() -> None:
    there, nothing = "test_no_statement_stands_twice", "test_nothing"
    held = ", ".join(
        f"`tests/{name}`"
        for name in (f"test_conformance.py::{there}", f"test_conformance.py::{nothing}", "x.py::test_y")
    )
    assert find_problems(held) == ["tests/test_conformance.py has no test_nothing", "there is no tests/x.py"]
