"""All commands and code of the README and other pages run, in order, and print what they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readme import PAGES, README, Step, make_checkout, read_steps, run_step, shows, without_wall_time


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_step_in_order(page: Path, tmp_path: Path) -> None:
    steps = read_steps(page.read_text(encoding="utf-8"))
    assert len(steps) > (10 if page == README else 1)
    make_checkout(tmp_path)
    for step in steps:
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
```yaml
not: a file
```
"""
    assert read_steps(page) == [
        Step("command", "one 1", output="shown"),
        Step("command", "two"),
        Step("file", "# a/b.py\nx = 1\n", path="a/b.py"),
        Step("python", "print(2)\n"),
    ]


def test_wall_time_does_not_count() -> None:
    assert without_wall_time("a   1.2 s of 3 ns\nb; 1,200 events") == ["a … s of 3 ns", "b; … events"]
