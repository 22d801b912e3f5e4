from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars
import pytest

import kernbench
from kernbench import compare
from kernbench.cli.main import main
from kernbench.report.tables.moved_points import moved_points
from tests.report.sample_tables import table


def keep(directory: Path, made: polars.DataFrame) -> str:
    directory.mkdir(parents=True)
    made.write_parquet(directory / "table.parquet")
    return str(directory)


@pytest.fixture
def sweeps(tmp_path: Path) -> tuple[str, str]:
    """Two sweeps of M and N, of which M = 2 is 5 % slower in B, and 3 % faster with N = 8."""
    factors = {(2, 7): 1.05, (2, 8): 0.97}
    axes = {"M": [1, 2], "N": [7, 8]}
    before = keep(tmp_path / "a", table(lambda m, n: 100.0 * m, **axes))
    return before, keep(tmp_path / "b", table(lambda m, n: 100.0 * m * factors.get((m, n), 1), **axes))


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_what_moved_is_shown(sweeps: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *sweeps]) == 0
    lines = printed(capsys)
    assert lines[:3] == [f"A: {sweeps[0]}, 4 points", f"B: {sweeps[1]}, 4 points, 4 of them in both", "2 points moved"]
    assert [line.split()[:5] for line in lines if line.strip()[:1] == "2" and "%" in line] == [
        ["2", "7", "200.000", "210.000", "+5.000%"],
        ["2", "8", "200.000", "194.000", "-3.000%"],
    ]
    assert lines[-3:] == [
        "latency_ns: 2 of 4 moved, by -3.000% to +5.000%",
        "pe_exec_ns: none of 4 moved",
        "energy_j: none of 4 moved",
    ]


@pytest.mark.parametrize("width", [70, 60, 40, 32])
def test_what_says_which_point_it_is_goes_last(sweeps: tuple[str, str], width: int) -> None:
    found = compare(*sweeps)
    laid = moved_points(found, found.moved(), 9).lay_out(width)
    lines = ["".join(text for text, _ in line).split() for line in laid]
    assert [line[:5] for line in lines if line[:1] == ["2"] and line[1] in "78"] == [
        ["2", "7", "200.000", "210.000", "+5.000%"],
        ["2", "8", "200.000", "194.000", "-3.000%"],
    ]


def test_a_field_that_one_sweep_sets_is_told(
    sweeps: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = polars.read_parquet(Path(sweeps[1]) / "table.parquet")
    field = polars.lit(64).alias("topology.noc.gbs")
    other = keep(tmp_path / "c", made.select("M", "N", field, polars.exclude("M", "N")))
    assert main(["compare", sweeps[0], other]) == 0
    assert printed(capsys)[2] == "topology.noc.gbs: as it stands in A, 64 in B"
    assert main(["compare", other, sweeps[0]]) == 0
    assert printed(capsys)[2] == "topology.noc.gbs: 64 in A, as it stands in B"


def test_the_algorithms_of_collectives_are_shown(
    sweeps: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = []
    for name, made, algorithms in (("c", sweeps[0], ["tree"] * 4), ("d", sweeps[1], ["tree", "tree", "ring", "tree"])):
        read = polars.read_parquet(Path(made) / "table.parquet")
        sides.append(keep(tmp_path / name, read.with_columns(collective_algorithm=polars.Series(algorithms))))
    assert main(["compare", *sides]) == 0
    shown = [line.rpartition("%")[2].strip() for line in printed(capsys) if line.strip()[:1] == "2" and "%" in line]
    assert shown == ["tree → ring", "tree"]
    assert main(["compare", *sides, "--json"]) == 0
    moved = json.loads(capsys.readouterr().out)["moved"]
    assert [(row["collective_algorithm_a"], row["collective_algorithm_b"]) for row in moved] == [
        ("tree", "ring"),
        ("tree", "tree"),
    ]


def test_a_sweep_equals_itself(sweeps: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", sweeps[0], sweeps[0], "--threshold", "0"]) == 0
    assert printed(capsys)[2:] == [
        "latency_ns: none of 4 moved",
        "pe_exec_ns: none of 4 moved",
        "energy_j: none of 4 moved",
    ]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--threshold", "5.1%"], 0),
        (["--threshold", "4%"], 1),
        (["--threshold", "0.04"], 1),
        (["--threshold", "latency_ns=6%", "--threshold", "achieved_tflops=1%"], 1),
        (["--threshold", "achieved_tflops=6%"], 0),
    ],
)
def test_a_threshold_counts_either_way(sweeps: tuple[str, str], options: list[str], code: int) -> None:
    assert main(["compare", *sweeps, *options]) == code


def test_only_what_is_worse_counts_if_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = keep(tmp_path / "a", table(lambda m: 100.0, M=[1]))
    fast = keep(tmp_path / "b", table(lambda m: 90.0, M=[1]))
    given = ["--threshold", "1%", "--threshold", "achieved_tflops=1%"]
    assert main(["compare", slow, fast, *given]) == 1
    assert main(["compare", slow, fast, *given, "--worse"]) == 0
    assert main(["compare", fast, slow, *given, "--worse"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "error: 1 of 1 points moved by more than allowed (latency_ns 1%, achieved_tflops 1%) or failed"
    )


def test_points_that_fail_or_are_gone_are_over_any_threshold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = keep(tmp_path / "a", table(lambda m: 1.0, M=[1, 2, 3]))
    b = keep(tmp_path / "b", table(lambda m: None if m == 1 else 1.0, M=[1, 2, 4]))
    assert main(["compare", a, b, "--threshold", "50%"]) == 1
    out, err = capsys.readouterr()
    assert "1 point of A is not in B" in out
    assert "ok → error" in out
    assert err.splitlines() == [
        f"error: 1 of 2 points moved by more than allowed (latency_ns 50%) or failed; 1 point of {a} is not in {b}"
    ]
    assert main(["compare", a, b]) == 0


def test_json_is_one_object(sweeps: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *sweeps, "--json", "--threshold", "4%"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["points"], found["only_a"], len(found["moved"]), len(found["over"])) == (4, 0, 2, 1)
    assert found["over"][0]["latency_ns_change"] == pytest.approx(0.05)


def simulated(made: polars.DataFrame, *bounded: int) -> polars.DataFrame:
    """The table as of mode hybrid, but for the rows in those places, which are bounds."""
    modes = ["analytic" if place in bounded else "hybrid" for place in range(len(made))]
    return made.with_columns(polars.Series("fidelity", modes))


def test_bounds_are_not_compared_with_what_was_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exact = table(lambda m: 100.0 * m, M=[1, 2, 3, 4])
    low = table(lambda m: 100.0 * m if m < 3 else 90.0 * m, M=[1, 2, 3, 4])
    hybrid, auto = (
        keep(tmp_path / "hybrid", simulated(exact)),
        keep(tmp_path / "auto", simulated(low, 2, 3)),
    )
    assert main(["compare", auto, hybrid, "--threshold", "0"]) == 0
    assert printed(capsys)[1:] == [
        f"B: {hybrid}, 4 points, 4 of them in both",
        "2 points left out: bounded in A and simulated in B, and a lower bound is no latency",
        "latency_ns: none of 2 moved",
        "pe_exec_ns: none of 2 moved",
        "energy_j: none of 2 moved",
    ]
    assert main(["compare", hybrid, auto, "--threshold", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["points"], found["bounded_a"], found["bounded_b"], found["moved"], found["over"]) == (2, 0, 2, [], [])


def test_bounds_are_compared_with_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = keep(tmp_path / "a", simulated(table(lambda m: 100.0, M=[1]), 0))
    after = keep(tmp_path / "b", simulated(table(lambda m: 110.0, M=[1]), 0))
    assert main(["compare", before, after, "--threshold", "1%"]) == 1
    lines = printed(capsys)
    assert "latency_ns, bounds alone: 1 of 1 moved, by +10.000% to +10.000%" in lines
    assert any(line.split()[:5] == ["≥", "100.000", "≥", "110.000", "+10.000%"] for line in lines)


def test_what_moved_of_bounds_is_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = keep(tmp_path / "a", simulated(table(lambda m: 100.0, M=[1, 2, 3]), 1, 2))
    after = keep(tmp_path / "b", simulated(table(lambda m: 110.0 if m > 1 else 100.0, M=[1, 2, 3]), 1, 2))
    assert main(["compare", before, after, "--json"]) == 0
    moved = json.loads(capsys.readouterr().out)["moved"]
    assert [(row["fidelity_a"], row["latency_ns_bound_a"], row["latency_ns_bound_b"]) for row in moved] == [
        ("analytic", "lower", "lower")
    ] * 2
    assert main(["compare", before, after]) == 0
    assert printed(capsys)[-6:] == [
        "latency_ns: none of 1 moved",
        "latency_ns, bounds alone: 2 of 2 moved, by +10.000% to +10.000%",
        "pe_exec_ns: none of 1 moved",
        "pe_exec_ns, bounds alone: none of 2 moved",
        "energy_j: none of 1 moved",
        "energy_j, bounds alone: none of 2 moved",
    ]


def test_a_threshold_is_not_kept_where_nothing_can_be_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = table(lambda m: 100.0, M=[1, 2])
    bounds, exact = keep(tmp_path / "a", simulated(made, 0, 1)), keep(tmp_path / "b", simulated(made))
    assert main(["compare", bounds, exact]) == 0
    assert main(["compare", bounds, exact, "--threshold", "1%"]) == 1
    assert capsys.readouterr().err == (
        "error: no point can be compared: each is bounded on one side and simulated on the other\n"
    )


def test_a_bounded_point_that_fails_is_over_any_threshold(tmp_path: Path) -> None:
    bounds = keep(tmp_path / "a", simulated(table(lambda m: 100.0, M=[1, 2]), 0, 1))
    failed = keep(tmp_path / "b", table(lambda m: None, M=[1, 2]))
    assert main(["compare", bounds, failed, "--threshold", "1%"]) == 1


def run_result(directory: Path, latency_ns: float, **more: Any) -> str:
    directory.mkdir()
    result = {
        "bench": "toy",
        "parameters": {"M": 1},
        "overrides": {},
        "latency_ns": latency_ns,
        "pe_exec_ns": 1.0,
        **more,
    }
    (directory / "result.json").write_text(json.dumps(result), encoding="utf-8")
    return str(directory)


def test_runs_are_compared_whatever_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = run_result(tmp_path / "a", 100.0)
    b = run_result(tmp_path / "b", 80.0, overrides={"hbm.channel_gbs": "64"})
    assert main(["compare", a, b]) == 0
    lines = printed(capsys)
    assert lines[2] == "topology.hbm.channel_gbs: as it stands in A, 64 in B"
    assert lines[-4:] == [
        "latency_ns: 1 of 1 moved, by -20.000% to -20.000%",
        "pe_exec_ns: none of 1 moved",
        "energy_j: none of 1 moved",
        "B is 1.25 times faster than A",
    ]


def test_parameters_of_other_types_are_the_same_points(tmp_path: Path) -> None:
    a = keep(tmp_path / "a", table(lambda m: 1.0, M=[1, 2]))
    b = keep(tmp_path / "b", table(lambda m: 1.0, M=[1.0, 2.0, 2.5]))
    assert main(["compare", a, b, "--threshold", "0"]) == 0


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["compare", *map(str, arguments)]) == 2
    return capsys.readouterr().err.strip()


def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, sweeps: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    none = tmp_path / "none"
    assert refusal(capsys, none, none) == (
        f"error: there is no {none}; give what a sweep, a run or an evaluation has kept (--out)"
    )
    none.mkdir()
    assert refusal(capsys, none, none) == (
        f"error: {none} is neither a sweep nor a run: it has no table.parquet and no result.json, nor is it an evaluation"
    )
    other = keep(tmp_path / "other", table(lambda k: 1.0, K=[1, 2]))
    assert refusal(capsys, sweeps[0], other) == (
        f"error: {sweeps[0]} varies 'M', which {other} does not have: which points are the same?"
    )
    assert refusal(capsys, *sweeps, "--threshold", "fast") == (
        "error: --threshold takes a share such as 2% or latency_ns=0.02, and got 'fast'"
    )
    assert refusal(capsys, *sweeps, "--threshold", "latency=1%").startswith(
        f"error: {sweeps[0]} has no figures 'latency'; did you mean 'latency_ns'?"
    )
    (tmp_path / "x.json").write_text("{}", encoding="utf-8")
    assert refusal(capsys, tmp_path / "x.json", sweeps[0]) == (
        f"error: {tmp_path / 'x.json'} is not the table of a sweep nor the figures of a run or an evaluation ('overrides')"
    )


def keep_explained(directory: Path, latency_ns: float, spent_ns: dict[str, float]) -> str:
    """The files of a run that was explained, as far as they are compared."""
    directory.mkdir()
    result = {"parameters": {}, "overrides": {}, "mode": "hybrid", "latency_ns": latency_ns, "pe_exec_ns": latency_ns}
    (directory / "result.json").write_text(json.dumps({**result, "explain": {"critical_path": spent_ns}}))
    return str(directory)


def test_where_two_explained_runs_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = keep_explained(tmp_path / "a", 100.0, {"gemm": 60.0, "noc links": 40.0})
    b = keep_explained(tmp_path / "b", 179.0, {"hbm_ctrl channels": 90.0, "gemm": 60.0, "noc links": 29.0})
    assert main(["compare", a, b]) == 0
    lines = printed(capsys)
    assert "B is 1.79 times slower than A" in lines
    at = lines.index("critical paths, by the difference")
    assert [line.split() for line in lines[at + 2 :]] == [
        ["hbm_ctrl", "channels", "0.000", "90.000", "+90.000"],
        ["noc", "links", "40.000", "29.000", "-11.000"],
    ]
    assert main(["compare", b, a, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["critical_path"]
    assert found[0] == {"kind": "hbm_ctrl channels", "a_ns": 90.0, "b_ns": 0.0}
    assert sum(one["b_ns"] - one["a_ns"] for one in found) == -79.0


def test_a_run_that_was_not_explained_has_no_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = keep_explained(tmp_path / "a", 100.0, {"gemm": 100.0})
    plain = tmp_path / "b"
    plain.mkdir()
    result = json.loads(Path(a, "result.json").read_text())
    del result["explain"]
    (plain / "result.json").write_text(json.dumps(result))
    assert main(["compare", a, str(plain)]) == 0
    assert not [line for line in printed(capsys) if line.startswith(("critical", "B is"))]


def test_a_change_from_zero_is_null_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = keep_explained(tmp_path / "a", 0.0, {})
    b = keep_explained(tmp_path / "b", 5.0, {})
    assert main(["compare", a, b, "--json", "--threshold", "1%"]) == 1
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert [row["latency_ns_change"] for row in found["moved"]] == [None]
    assert [row["latency_ns_b"] for row in found["over"]] == [5.0]


@pytest.mark.parametrize("value", [["f16"], {"x": 1}])
def test_a_setting_of_a_run_that_is_a_collection(
    value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = keep_explained(tmp_path / "a", 1.0, {})
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "result.json").write_text(json.dumps({"parameters": {"dtype": value}, "overrides": {}}))
    assert refusal(capsys, a, tmp_path / "b") == (
        f"error: {tmp_path / 'b' / 'result.json'} is not the table of a sweep nor the figures of a run or an evaluation "
        "(dtype is no number and no text)"
    )


@pytest.mark.parametrize("column", ["status", "fidelity", "latency_ns", "N"])
def test_a_column_of_another_type(
    column: str, tmp_path: Path, sweeps: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    import polars

    table = polars.read_parquet(Path(sweeps[0]) / "table.parquet")
    table.with_columns(polars.Series(column, [[1]] * len(table))).write_parquet(tmp_path / "table.parquet")
    assert f"({column} is of type List(Int64))" in refusal(capsys, tmp_path, sweeps[0])


def test_where_the_energies_of_two_runs_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = [tmp_path / name for name in ("a", "b")]
    for side, given in zip(sides, ({}, {"variant": "load_load"}), strict=True):
        kernbench.run("matmul-composite", topology="tiny", parameters=given).write(side)
    assert main(["compare", *map(str, sides)]) == 0
    lines = printed(capsys)
    at = next(at for at, line in enumerate(lines) if line.startswith("energy, by the difference: B takes "))
    assert lines[at].endswith("J less")
    assert lines[at + 2].split()[:2] == ["hbm", "dynamic"]  # each operand is read once
    assert lines[at + 2].split()[-2].startswith("-")
    assert main(["compare", *map(str, sides), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    totals = [json.loads((side / "energy.json").read_text())["total_aj"] for side in sides]
    assert sum(one["b_aj"] - one["a_aj"] for one in found["energy"]) == totals[1] - totals[0]
    assert "energy_j" in found["columns"]
    (sides[1] / "energy.json").unlink()
    assert main(["compare", *map(str, sides), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["energy"] == []


def test_energies_that_are_no_energies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernbench.run("vector-add", topology="tiny").write(tmp_path / "a")
    (tmp_path / "a" / "energy.json").write_text('{"parts": [{"part": "hbm"}]}')
    assert refusal(capsys, tmp_path / "a", tmp_path / "a").startswith("error: ")
