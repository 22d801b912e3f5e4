"""`kernbench run --energy`, and the line of the summary."""

from __future__ import annotations

import json
import re

from click.testing import CliRunner

from kernbench.cli.main import kernbench


def run(*words: str) -> str:
    done = CliRunner().invoke(kernbench, ["run", "vector-add", "-t", "tiny", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_summary_has_the_energy_of_a_run() -> None:
    line = next(line for line in run().splitlines() if line.startswith("energy"))
    assert " dynamic, " in line
    assert "mean power" in line


def test_bounds_are_shown_as_bounds() -> None:
    line = next(line for line in run("--mode", "analytic").splitlines() if line.startswith("energy"))
    assert "≥" in line
    assert "at most" in line


def test_the_tables_of_bounds_say_so() -> None:
    text = run("--mode", "analytic", "--energy")
    assert "energy: at least " in text
    assert " static; at most " in text
    assert "mean power" not in text


def test_energy_is_shown_by_all_that_it_goes_to() -> None:
    text = run("--energy")
    for title in ("dynamic energy by action", "by die", "dynamic energy by operation, and by line of the kernels"):
        assert title in text
    assert "(dies, where no part is)" in text
    assert "tl.load" in text
    assert "for what is uncertain of the prices" in text


def test_power_is_shown_as_mean_and_peak() -> None:
    line = next(line for line in run("--energy").splitlines() if line.startswith("power: "))
    assert re.fullmatch(r"power: [\d.,]+ W in the mean, at most [\d.,]+ W in the [\d.,]+ ns from [\d.,]+ ns", line)
    assert "in the mean, at most" not in run("--energy", "--mode", "analytic")


def test_explain_says_what_would_save_most() -> None:
    text = run("--explain")
    assert "what would save most of " in text
    assert "static power" in text


def test_json_adds_up() -> None:
    found = json.loads(run("--energy", "--json"))
    energy = found["energy"]
    assert found["dynamic_aj"] == energy["dynamic_aj"] == sum(one["energy_aj"] for one in energy["actions"])
    for groups in ("parts", "dies"):
        assert sum(one["dynamic_aj"] + one["static_aj"] for one in energy[groups]) == energy["total_aj"]
    for groups in ("operations", "lines", "launches"):
        assert sum(one["dynamic_aj"] for one in energy[groups]) == energy["dynamic_aj"]
    power = energy["power"]
    assert sum(map(sum, power["dynamic_aj"].values())) == energy["dynamic_aj"]
    assert sum(power["static_aj"]) == energy["static_aj"]
    assert power["peak"]["w"] > energy["mean_w"]
    assert found["energy_j"] == energy["total_aj"] / 10**18
