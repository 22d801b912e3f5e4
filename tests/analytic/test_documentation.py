"""The page's program runs as it stands there, with fewer points."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "analytic.md"


@pytest.mark.slow
def test_the_program_of_the_page(capsys):
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert re.findall(r"^(?:from|import) (\S+)", program, re.MULTILINE) == ["numpy", "kernbench.analytic"]
    names: dict = {}
    exec(program.replace("1_000_000", "1_000"), names)
    assert names["table"].columns == ["lower_ns", "upper_ns", "binding"]
    assert len(names["table"]) == 1000
    assert "'hbm.channel_gbs': 32.0" in capsys.readouterr().out
