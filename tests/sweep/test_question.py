"""Two questions to one bench keep their tables; one that asks for more goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernbench.sweep.grid.grid import Grid
from kernbench.sweep.plan import Plan, plan_sweep, write_manifest
from kernbench.sweep.request import Request, read_request

BENCH = "gemm-single-pe"


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(target: Any = BENCH, **named: Any) -> Grid:
    settings = {name: value for name, value in named.items() if name not in ("topology", "mode")}
    return read_request(target, Request(settings, named.get("topology", "tiny"), named.get("mode"))).grid


def begin(grid: Grid, out: Path | None = None) -> Plan:
    """A sweep that has left its manifest."""
    plan = plan_sweep(grid, out)
    write_manifest(plan)
    return plan


def test_another_question_has_a_directory_of_its_own() -> None:
    first = begin(ask(M="64,128"))
    assert first.directory == Path("results", BENCH)
    others = [ask(K="64,128"), ask(M="64,128", K=32), ask(M="64", mode="flit"), ask(M="64,128", topology="sip_2x4x4")]
    for number, other in enumerate(others, 2):
        assert begin(other).directory == Path("results", f"{BENCH}-{number}")
    assert plan_sweep(ask(M="64,128")).directory == first.directory  # each finds its own again
    assert plan_sweep(others[1]).directory == Path("results", f"{BENCH}-3")


def test_more_values_of_the_same_parameters_go_on_in_the_same_directory() -> None:
    begin(ask(M="64,128"))
    more = begin(ask(M="32,64,128"))
    assert more.directory == Path("results", BENCH)
    assert plan_sweep(ask(M="32,64,128,256")).directory == more.directory
    assert plan_sweep(ask(M="64,128")).directory == Path("results", f"{BENCH}-2")  # else the row of 32 would be lost


def test_a_grid_with_other_values_is_a_question_too(own: Path) -> None:
    file = own / "small.yaml"
    file.write_text(f"bench: {BENCH}\ntopology: tiny\nparameters: {{M: [64, 128]}}\n", encoding="utf-8")
    assert begin(ask(str(file), M="32")).directory == Path("results", "small-set")
    assert begin(ask(str(file), K="32")).directory == Path("results", "small-set-2")


def test_a_grid_file_keeps_the_directory_of_its_name(own: Path) -> None:
    file = own / "small.yaml"
    for values in ("[64, 128]", "[32]"):
        file.write_text(f"bench: {BENCH}\ntopology: tiny\nparameters: {{M: {values}}}\n", encoding="utf-8")
        assert begin(read_request(str(file), Request({})).grid).directory == Path("results", "small")


def test_a_directory_that_is_named_is_taken(own: Path) -> None:
    for settings in ({"M": 64}, {"K": 64}):
        assert begin(ask(**settings), own / "here").directory == own / "here"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"question": 3}', '{"question": {"parameters": 3}}'])
def test_a_manifest_that_does_not_say_its_question_is_left_alone(own: Path, text: str) -> None:
    (own / "results" / BENCH).mkdir(parents=True)
    (own / "results" / BENCH / "sweep.json").write_text(text, encoding="utf-8")
    assert plan_sweep(ask(M=64)).directory == Path("results", f"{BENCH}-2")


def test_the_manifest_says_the_question(own: Path) -> None:
    begin(ask(M="64,128"))
    told = json.loads((own / "results" / BENCH / "sweep.json").read_text(encoding="utf-8"))
    assert told["question"]["parameters"] == {"M": ["64", "128"]}
