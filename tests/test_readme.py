"""All commands and code of the README and other pages run, in order, and print what they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readme import (
    PAGES,
    README,
    Figure,
    Step,
    find_unchecked,
    make_folder,
    read_figures,
    read_steps,
    run_step,
    shows,
    without_wall_time,
)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_step_in_order(page: Path, tmp_path: Path) -> None:
    steps = read_steps(page.read_text(encoding="utf-8"))
    assert len(steps) > (7 if page == README else 1)
    make_folder(tmp_path, page)
    for step in steps:
        if step.kind == "figures":
            assert [figure for figure in read_figures(step, tmp_path) if not figure.is_right] == []
            continue
        printed = run_step(step, tmp_path)
        assert shows(step, printed), f"{step.text} prints\n{printed}"


def test_reading_steps() -> None:
    page = """text
```console
$ one 1
shown

$ two
```
```python
# a/b.py
x = 1
```
```python
print(2)
```
```cpp
// k/read.cpp
void kernel() {}
```
```yaml
not: a file
```
"""
    assert read_steps(page) == [
        Step("command", "one 1", output="shown"),
        Step("command", "two"),
        Step("file", "# a/b.py\nx = 1\n", path="a/b.py"),
        Step("python", "print(2)\n"),
        Step("file", "// k/read.cpp\nvoid kernel() {}\n", path="k/read.cpp"),
    ]


def test_wall_time_does_not_count() -> None:
    assert without_wall_time("a   1.2 s of 3 ns\nb; 1,200 events") == ["a … s of 3 ns", "b; … events"]


TUTORIALS = [page for page in PAGES if page.parent.name == "tutorials"]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_no_figure_in_a_tutorial_is_unchecked(page: Path) -> None:
    assert find_unchecked(page.read_text(encoding="utf-8")) == []


FIGURES = """In one chain 5.1 µs lie between two tasks, some five
times as much as work: a third of 16 KiB.

<!-- from runs
one = 39 * 5.05
5.1 µs: one / 39
five times: 5.4
a third: 0.3
given: 16 KiB
-->

And 7 more `12`, half of [them](page.md#34).
"""


def test_figures_in_prose_are_read_and_compared(tmp_path: Path) -> None:
    (step,) = read_steps(FIGURES)
    assert step.output.startswith("In one chain 5.1 µs lie between two tasks, some five times as much")
    assert read_figures(step, tmp_path) == [
        Figure("5.1 µs", 39 * 5.05 / 39),
        Figure("five times", 5.4),
        Figure("a third", 0.3),
    ]
    assert [figure.is_right for figure in read_figures(step, tmp_path)] == [
        False,
        True,
        True,
    ]  # 5.05 is 5.0 in two digits
    assert not Figure("a third", 0.23).is_right
    assert find_unchecked(FIGURES) == ["7", "half"]


@pytest.mark.parametrize(
    ("text", "value", "told"),
    [
        ("7.6 µs", 13.6149, "13.6 µs"),
        ("33 %", 0.2291, "23 %"),
        ("1,456.6 µs", 1456.635, "1,456.6 µs"),
        ("some 40", 39.7, "some 40"),
    ],
)
def test_a_figure_is_told_as_it_is_written(text: str, value: float, told: str) -> None:
    assert Figure(text, value).told == told
    assert Figure(told, value).is_right


def test_a_figure_that_the_prose_lacks_is_told(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"'8 µs' is not in the prose 'It takes 7 µs\.'"):
        read_figures(Step("figures", "8 µs: 8\n", output="It takes 7 µs."), tmp_path)
