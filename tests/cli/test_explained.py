from __future__ import annotations

import pytest

from kernbench.cli.output.explained import show_what_if


@pytest.mark.parametrize(("long", "said"), [(True, "and this one is long"), (False, "the host waited for results")])
def test_a_what_if_table_that_is_missing_has_one_reason(
    long: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_what_if(None, long=long)
    assert said in capsys.readouterr().out
