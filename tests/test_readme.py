"""Everything the README says to type works, in order, and prints what the README shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readme import README, Step, make_checkout, read_steps, run_step, without_wall_time


@pytest.mark.slow
def test_every_step_in_order(tmp_path: Path) -> None:
    steps = read_steps(README.read_text(encoding="utf-8"))
    assert len(steps) > 10
    make_checkout(tmp_path)
    for step in steps:
        printed = run_step(step, tmp_path)
        begins = without_wall_time(printed)[: len(step.output.splitlines())]
        assert begins == without_wall_time(step.output), f"{step.text} prints\n{printed}"


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
