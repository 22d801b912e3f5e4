"""The page of shares of peak, and the record that it is made from."""

from __future__ import annotations

import pytest

from benches.operators.__main__ import run
from benches.operators.page import PAGE, make_page
from benches.operators.steps import STEPS, Step, measure, read


def test_the_page_is_that_of_the_record() -> None:
    record = read()
    assert list(record) == [step.name for step in STEPS]
    assert PAGE.read_text(encoding="utf-8") == make_page(record)


def test_shares_are_of_the_step_and_of_the_path() -> None:
    for found in read().values():
        assert sum(one["of_step"] for one in found["operators"]) <= 1.001  # layers of a kind count in the first alone
        for one in found["operators"]:
            assert sum(one["spent"].values()) <= 1.001
            assert one["share_of_peak"] is None or 0 < one["share_of_peak"] < 1


@pytest.mark.slow
def test_a_step_is_as_the_record_has_it() -> None:
    step = next(step for step in STEPS if step.machine == "tpu_v6e")
    assert measure(step) == read()[step.name]


def test_an_unknown_step_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nothing"]) == 2
    assert "there is no step 'nothing'" in capsys.readouterr().err


def test_the_command_of_a_step_repeats_it() -> None:
    step = Step("tiny", "llama-3.1-8b", {"batch": 2})
    assert step.command == "kernbench run llama-3.1-8b -t tiny --set batch=2 --explain"
