"""Choices are the fastest of their candidates alone, are kept, and are the same whether they are kept or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kernbench
from kernbench.cli.main import main
from kernbench.errors import InputError, KernelError
from kernbench.frontends import network_choices
from kernbench.frontends.network_choices import settle
from kernbench.workloads.sip.candidates import Candidate
from kernbench.workloads.sip.choices import Choices
from kernbench.workloads.sip.trials import QUESTIONS, Question
from tests.workloads.configs import decoder, gpt2

LLAMA = decoder("llama", "64/4/4/2/16/128/256")
NETWORKS = {"llama": LLAMA, "gpt2": {**gpt2(64, 2, 4, 4096), "vocab_size": 256}}
USUAL = "spread=yes,x=2,qkv=2,units=2,inner=2,down=1x2"  # of machine tiny
GIVEN = {"batch": 2, "context": 9}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A config.json in the working directory, and an empty cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNBENCH_CACHE", str(tmp_path / "cache"))
    Path("config.json").write_text(json.dumps(LLAMA))
    return "config.json"


def ask(config: str, machine: str = "tiny", **given: Any) -> Any:
    return kernbench.run(config, machine, parameters={**GIVEN, **given}).network


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("batch", "context"), [(1, 9), (3, 100), (2, 900)])
def test_what_is_chosen_is_no_slower_than_what_holds_without_a_choice(config, name, batch, context):
    Path(config).write_text(json.dumps(NETWORKS[name]))
    chosen = ask(config, batch=batch, context=context)
    assert chosen["step_fs"] <= ask(config, batch=batch, context=context, choices=USUAL)["step_fs"]
    assert [row["choice"] for row in chosen["choices"]] == list(network_choices_in_order())
    for row in chosen["choices"]:
        tried = {one["value"]: one["ns"] for one in row["candidates"] if one["ns"] is not None}
        assert row["ns"] == tried[row["chosen"]] == min(tried.values())
        assert row["usual_ns"] == tried["usual"]
        for one in row["candidates"]:
            assert one["least_ns"] <= (row["usual_ns"] if one["ns"] is None else one["ns"]) or one["ns"] is None


def network_choices_in_order() -> tuple[str, ...]:
    return "x", "qkv", "spread", "splits", "units", "down", "inner"


def test_a_candidate_does_not_run_if_its_bound_is_no_less_than_the_best_time(config):
    for row in ask(config, batch=64, context=9)["choices"]:
        for one in row["candidates"]:
            assert one["ns"] is not None or one["least_ns"] >= row["ns"]


def test_the_same_question_is_asked_once_and_has_the_same_answer(config, monkeypatch):
    first = ask(config)
    (kept,) = Path("cache/choices").glob("*.choices")
    with monkeypatch.context() as without:
        without.setattr(network_choices, "Trials", None)
        assert ask(config) == first
        with pytest.raises(TypeError):  # another step is another question
            ask(config, context=10)
    kept.write_bytes(kept.read_bytes()[:-1] + b"?")
    assert ask(config) == first


def test_choices_that_are_fixed_stay_and_the_others_are_chosen(config):
    rows = {row["choice"]: row for row in ask(config, choices="down=1x1,x=1")["choices"]}
    assert rows["down"] == {"choice": "down", "chosen": "1x1", "fixed": True}
    assert rows["x"] == {"choice": "x", "chosen": "1", "fixed": True}
    assert not rows["inner"]["fixed"]


def test_what_was_chosen_can_be_fixed_and_gives_the_same_step(config):
    free = ask(config)
    text = ",".join(f"{row['choice']}={row['chosen']}" for row in free["choices"] if row["chosen"] != "usual")
    assert text
    assert ask(config, choices=text)["step_fs"] == free["step_fs"]


def test_the_summary_has_a_line_for_each_choice(config, capsys):
    sets = [part for one in ("batch=2", "context=9", "choices=down=1x1") for part in ("--set", one)]
    assert main(["run", config, "-t", "tiny", *sets]) == 0
    out = capsys.readouterr().out
    for word in ("choice", "us alone", "units", "inner", "1x1  fixed"):
        assert word in out


def test_choices_of_a_phase_without_any_are_refused(config):
    with pytest.raises(InputError, match="config got choices, and phase=prefill has none; leave them out"):
        ask(config, phase="prefill", choices="x=1")
    assert ask(config, phase="prefill")["choices"] == []
    with pytest.raises(InputError, match="choices are of family 'sip', and wormhole_n150 is of family 'tensix'; leave"):
        ask(config, "wormhole_n150", choices="x=1")


def test_an_unknown_choice_is_refused_in_a_sentence_with_code_2(config, capsys):
    assert main(["run", config, "-t", "tiny", "--set", "choices=down=3x3"]) == 2
    err = capsys.readouterr().err
    assert "config got choices='down=3x3': down cannot be '3x3'; give 1x1, 1x2, 2x1, 2x2" in err
    assert len(err.strip().splitlines()) == 1


class _Scripted:
    """Trials with given times; None: the candidate cannot run."""

    def __init__(self, times: dict[Any, int | None]) -> None:
        self.times, self.begun = times, 0

    def time(self, question: Question, choices: Choices) -> int:
        found = self.times[getattr(choices, question.field)]
        if found is None:
            raise KernelError("scratch memory is full")
        return found

    def begin(self) -> None:
        self.begun += 1


SPLITS = next(question for question in QUESTIONS if question.field == "splits")
CANDIDATES = [Candidate(None, 10.0), Candidate(4, 30.0), Candidate(2, 60.0)]


@pytest.mark.parametrize(
    ("times", "best", "ran"),
    [
        ({None: 100, 4: 90, 2: 80}, 2, 3),
        ({None: 100, 4: 100, 2: 100}, None, 3),  # of equals what holds without a choice
        ({None: 100, 4: 50, 2: 1}, 4, 2),  # a bound of 60 is no less
        ({None: 20, 4: 1, 2: 1}, None, 1),
        ({None: None, 4: 90, 2: 95}, 4, 2),
        ({None: 100, 4: None, 2: 90}, 2, 2),
    ],
)
def test_the_fastest_that_runs_is_taken(times, best, ran):
    trials: Any = _Scripted(times)
    value, told = settle(trials, SPLITS, CANDIDATES, Choices())
    assert value == best
    assert sum(one["ns"] is not None for one in told["candidates"]) == ran
    failed = [one["problem"] for one in told["candidates"] if one["problem"]]
    assert failed == ["scratch memory is full"] * list(times.values()).count(None)
    assert trials.begun == len(failed)


def test_if_nothing_can_run_the_error_is_that_of_what_holds_without_a_choice():
    trials: Any = _Scripted(dict.fromkeys((None, 4, 2)))
    with pytest.raises(KernelError, match="scratch memory is full"):
        settle(trials, SPLITS, CANDIDATES, Choices())


def test_all_fields_of_choices_are_asked():
    assert set(network_choices_in_order()) == set(Choices._fields)
