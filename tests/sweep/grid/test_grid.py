from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.errors import InputError
from kernbench.sweep.grid.grid import load_grid


def write(directory: Path, text: str) -> Path:
    path = directory / "grid.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(directory: Path, text: str) -> list[str]:
    path = write(directory, text)
    with pytest.raises(InputError) as caught:
        load_grid(path)
    return str(caught.value).replace(str(path), "grid.yaml").split("\n")


def test_all_forms_of_an_axis(tmp_path: Path) -> None:
    grid = load_grid(
        write(
            tmp_path,
            """
            bench: toy
            parameters:
              A: {values: [64, 128]}
              B: {value: 3}
              C: [1, 2.5, f16, true]
              D: 7
              E: {min: 1, max: 3}
              F: {min: 0.5, max: 1.5, step: 0.5}
              G: {range: [64, 192, 64]}
              H: {linspace: [0.0, 1.0, 3]}
              topology.hbm.channel_gbs: {logspace: [8, 32, 3]}
            """,
        )
    )
    assert {axis.name: axis.values for axis in grid.axes} == {
        "A": (64, 128),
        "B": (3,),
        "C": (1, 2.5, "f16", True),
        "D": (7,),
        "E": (1, 2, 3),
        "F": (0.5, 1.0, 1.5),
        "G": (64, 128, 192),
        "H": (0.0, 0.5, 1.0),
        "topology.hbm.channel_gbs": (8, 16, 32),
    }


def test_what_a_grid_need_not_say(tmp_path: Path) -> None:
    grid = load_grid(write(tmp_path, "bench: toy\n"))
    assert (grid.name, grid.topology, grid.mode, grid.groups, grid.rules) == ("grid", "sip_2x4x4", "hybrid", (), ())


def test_zipped_axes_stand_where_their_first_stands(tmp_path: Path) -> None:
    text = "bench: toy\nparameters: {M: [1, 2], P: [3], N: [4, 5], K: [6, 7]}\nzip: [[K, M]]\n"
    groups = load_grid(write(tmp_path, text)).groups
    assert [[axis.name for axis in group] for group in groups] == [["M", "K"], ["P"], ["N"]]


def test_a_flat_zip_is_one_group(tmp_path: Path) -> None:
    text = "bench: toy\nparameters: {M: [1, 2], N: [4, 5]}\nzip: [M, N]\n"
    assert len(load_grid(write(tmp_path, text)).groups) == 1


def test_a_mapping_is_a_grid_too() -> None:
    grid = load_grid({"name": "mine", "bench": "toy", "parameters": {"M": (1, 2)}, "where": "M > 1"})
    assert grid.name == "mine"
    assert grid.axes[0].values == (1, 2)
    with pytest.raises(InputError) as caught:
        load_grid({"bench": "toy", "parameter": {}})
    assert str(caught.value) == "grid: parameter: unknown field; did you mean 'parameters'?"


def test_unknown_words_name_the_nearest(tmp_path: Path) -> None:
    assert refusal(tmp_path, "bench: toy\ntopolgy: tiny\n") == [
        "grid.yaml:2:1: topolgy: unknown field; did you mean 'topology'?"
    ]
    assert refusal(tmp_path, "bench: toy\nmethod: sobl\n") == [
        "grid.yaml:2:9: method: got 'sobl', expected 'grid', 'random', 'sobol', 'latin' or 'optimise'"
    ]
    assert refusal(tmp_path, "topology: tiny\n") == [
        "grid.yaml:1:1: a grid needs a bench, or a pattern of traffic, such as uniform; give one of them"
    ]


FORMS = "give exactly one of value, values, range, linspace, logspace, or min with max and step"


def test_all_that_is_wrong_with_the_axes_at_once(tmp_path: Path) -> None:
    text = """
bench: toy
parameters:
  A: {valuess: [64, 128]}
  B: {range: [64, 256]}
  C: {min: 1, max: 4.5}
  D: {values: [1, [2]]}
  E: {range: [1, 9, -1]}
  F:
  G: {value: 1, values: [2]}
  H: {value: 1, max: 2}
  I: {linspace: [1, 16 KiB, 3]}
  J: {min: 3}
where: A <
exclude: [A == 1, A is 2]
"""
    assert refusal(tmp_path, text) == [
        "grid.yaml:4:7: valuess: unknown field; did you mean 'values'?",
        "grid.yaml:5:14: range: got [64, 256], expected [first, last, step] or a text such as 16:128:x2",
        "grid.yaml:6:3: C: min goes with max and step; the step may be left out between integers",
        "grid.yaml:7:19: values.1: got [2], expected a number, a text, true or false",
        "grid.yaml:8:14: range: steps of -1 never lead from 1 to 9",
        f"grid.yaml:9:3: F: {FORMS}",
        f"grid.yaml:10:3: G: {FORMS}",
        f"grid.yaml:11:3: H: {FORMS}",
        "grid.yaml:12:3: I: got 1:16 KiB, where some numbers have a unit and some have none; give each its unit",
        "grid.yaml:13:3: J: min goes with max and step; the step may be left out between integers",
        "grid.yaml:14:8: 'A <' is not an expression (invalid syntax)",
        "grid.yaml:15:19: 'is' is not allowed in 'A is 2'; use ==",
    ]


def test_what_cannot_be_zipped(tmp_path: Path) -> None:
    head = "bench: toy\nparameters: {M: [1, 2], N: [3, 4, 5], K: [6, 7]}\n"
    assert refusal(tmp_path, head + "zip: [[M, X]]\n") == [
        "grid.yaml:3:6: zip: 'X' is not among the parameters; known: K, M, N"
    ]
    assert refusal(tmp_path, head + "zip: [[M, N]]\n") == [
        "grid.yaml:3:6: zip: what varies together has equally many values, but M has 2, N has 3"
    ]
    assert refusal(tmp_path, head + "zip: [[M, K], [K]]\n") == ["grid.yaml:3:6: zip: 'K' stands in it twice"]
    assert refusal(tmp_path, head + "zip: [[M, M]]\n") == ["grid.yaml:3:6: zip: 'M' stands in it twice"]


def test_an_unknown_grid_names_the_known() -> None:
    with pytest.raises(InputError, match=r"^unknown sweep 'quikstart'; did you mean 'quickstart'\?"):
        load_grid("quikstart")


def test_what_a_grid_asks() -> None:
    grid = load_grid(
        {
            "bench": "toy",
            "method": "sobol",
            "samples": 8,
            "seed": 3,
            "parameters": {"M": {"min": 1, "max": 9, "when": "N > 1"}, "N": [1, 2]},
            "constraints": "M < 8",
            "derived": {"cost": "M * 2", "one": 1},
            "objectives": ["min latency_ns", "max achieved_gbs"],
            "baseline": {"N": 1},
        }
    )
    assert (grid.method, grid.samples, grid.seed) == ("sobol", 8, 3)
    assert grid.axes[0].span is not None
    assert grid.axes[0].when is not None
    assert [derived.expression.text for derived in grid.derived] == ["M * 2", "1"]
    assert list(map(str, grid.objectives)) == ["min latency_ns", "max achieved_gbs"]
    assert [(axis.name, axis.values) for axis in grid.baseline] == [("N", (1,))]


@pytest.mark.parametrize("objectives", [{"cost": "max"}, ["max cost"], "max cost"])
def test_objectives_are_written_in_three_ways(objectives: object) -> None:
    grid = load_grid({"bench": "toy", "objectives": objectives})
    assert [(one.column, one.least) for one in grid.objectives] == [("cost", False)]


def test_what_is_wrong_with_a_question(tmp_path: Path) -> None:
    assert refusal(
        tmp_path, "bench: toy\nmethod: sobol\nbatch: 3\nparameters: {M: {min: 3, max: 1}}\nderived: {a: M <}\n"
    ) == [
        "grid.yaml:2:9: method sobol takes samples: say how many",
        "grid.yaml:3:1: batch: goes with method optimise, not with sobol",
        "grid.yaml:4:14: M: a span goes from a smaller number to a larger, not from 3 to 1",
        "grid.yaml:5:14: 'M <' is not an expression (invalid syntax)",
    ]
    assert refusal(tmp_path, "bench: toy\nseed: 3\n") == [
        "grid.yaml:2:1: seed: goes with method random, sobol, latin, optimise, not with grid"
    ]
    assert refusal(tmp_path, "bench: toy\nobjectives: [fast]\n") == [
        "grid.yaml:2:13: objectives: got 'fast', expected min or max and a column, such as 'min latency_ns'"
    ]
    assert refusal(tmp_path, "bench: toy\nobjectives: [min M, max M]\n") == [
        "grid.yaml:2:13: objectives: 'M' stands in it twice"
    ]
    assert refusal(tmp_path, "bench: toy\nderived: {a: [1]}\n") == [
        "grid.yaml:2:14: derived.a: got [1], expected a formula"
    ]
    assert refusal(tmp_path, "bench: toy\nderived: {a b: 1}\n") == [
        "grid.yaml:2:1: derived: 'a b' is no name for a column; write letters, digits and _"
    ]
    assert refusal(tmp_path, "bench: toy\nparameters: {M: {min: 1, max: 3, scale: log}}\n") == [
        "grid.yaml:2:14: M: scale goes with min and max without a step, and with a method that draws; use logspace"
    ]
    text = "bench: toy\nmethod: random\nsamples: 3\nparameters: {M: {min: 1, max: 3}, N: [1, 2]}\nzip: [M, N]\n"
    assert refusal(tmp_path, text) == [
        "grid.yaml:5:6: zip: M is drawn from a span; list its values to vary it together with others"
    ]


def test_words_and_parameters_that_are_wrong_are_told_together(tmp_path: Path) -> None:
    assert refusal(tmp_path, "bench: toy\nobjective: x\nparameters:\n  M: {vales: [1]}\n") == [
        "grid.yaml:2:1: objective: unknown field; did you mean 'objectives'?",
        "grid.yaml:4:7: vales: unknown field; did you mean 'values'?",
    ]
    assert refusal(tmp_path, "- bench: toy\n") == ["grid.yaml:1:1: got [{'bench': 'toy'}], expected a mapping"]


@pytest.mark.parametrize("axis", ["[1, 9223372036854775808]", "{range: [-9223372036854775809, 1, 1.0e+18]}"])
def test_an_integer_that_no_column_holds(axis: str, tmp_path: Path) -> None:
    [said] = refusal(tmp_path, f"bench: toy\nparameters:\n  A: {axis}\n")
    assert said.endswith("expected an integer of at most 64 bits")
