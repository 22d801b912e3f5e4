"""Grids of traffic, of Tanto benches and of Tanto programs: what is read of them, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.run import run_sweep
from tests.sweep import fakes
from tests.tanto import support

GRID: dict[str, Any] = {
    "name": "mine",
    "pattern": "uniform",
    "topology": "mesh_8x8_credit",
    "parameters": {"load": 0.5, "window": 100, "topology.k": 2, "topology.buffer_flits": [1, 4]},
}
KNOWN = "known: load, loads, packet_flits, pattern, seed, window"


def grid(**changes: Any) -> dict[str, Any]:
    parameters = {**GRID["parameters"], **changes.pop("parameters", {})}
    return {**GRID, "parameters": parameters, **changes}


def refusal(given: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as caught:
        plan_sweep(given)
    return str(caught.value).split("\n")


def test_a_point_has_all_parameters_of_the_traffic(tmp_path: Path) -> None:
    first, second = plan_sweep(grid(parameters={"load": "0.5", "seed": 7}), tmp_path).points
    assert first.bench is None
    assert first.parameters == {
        "pattern": "uniform",
        "load": 0.5,
        "loads": "",
        "packet_flits": 4,
        "seed": 7,
        "window": 100,
    }
    assert [point.overrides["buffer_flits"] for point in (first, second)] == [1, 4]
    assert first.described == "pattern 'uniform'"
    assert plan_sweep(grid(parameters={"seed": 7}), tmp_path).points[0].key == first.key
    assert plan_sweep(grid(parameters={"seed": 8}), tmp_path).points[0].key != first.key
    assert plan_sweep(grid(pattern="tornado", parameters={"seed": 7}), tmp_path).points[0].key != first.key


def test_what_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    assert refusal(grid(pattern="unifrom"))[0].startswith("grid: unknown pattern 'unifrom'; did you mean 'uniform'?")
    assert refusal(grid(topology="tiny", parameters={"topology.k": 2}))[0] == (
        "grid: patterns of traffic run on family 'mesh', and topology 'tiny' is of family 'sip'; give one such as mesh_8x8"
    )
    assert refusal(grid(bench="vector-add")) == ["grid: pattern: the grid has a bench already; leave one of them out"]
    assert refusal(grid(mode="auto")) == [
        "grid: mode auto bounds benches; give hybrid or flit for traffic of a pattern"
    ]
    assert refusal(grid(op_limit=5)) == [
        "grid: op_limit: limits the operations of kernels, and traffic has none; time_limit limits a point"
    ]
    with pytest.raises(InputError) as caught:
        plan_sweep(grid(), op_limit=5)
    assert str(caught.value) == (
        "the op limit limits the operations of kernels, and traffic has none; time_limit limits a point"
    )


def test_parameters_that_mean_nothing_are_refused_with_their_place() -> None:
    assert refusal(grid(parameters={"buffer_flits": 3, "load": [0.5, 2], "window": "x"})) == [
        "grid: parameter 'load' of pattern 'uniform': got load 2, expected more than 0 and at most 1, "
        "the whole bandwidth of an endpoint",
        "grid: parameter 'window' of pattern 'uniform' is int, as its default 10000; got 'x'",
        f"grid: pattern 'uniform' has no parameter 'buffer_flits'; {KNOWN}",
    ]
    assert refusal(grid(parameters={"pattern": ["uniform", "swirl"]})) == [
        "grid: parameter 'pattern' of pattern 'uniform': unknown pattern 'swirl'; known: bitcomp, hotspot, neighbor, "
        "tornado, transpose, uniform"
    ]


def test_a_grid_of_traffic_has_columns_of_traffic() -> None:
    assert refusal(grid(objectives=["max achieved_tflops"]))[0].startswith(
        "grid: objectives: 'achieved_tflops' is no column of numbers"
    )
    assert refusal(grid(constraints="pe_exec_ns < 5"))[0].startswith("grid: 'pe_exec_ns' is not a parameter here")


def test_a_table_of_traffic(tmp_path: Path) -> None:
    """Patterns and fields vary together; a point that cannot be sent is a row with its error."""
    given = grid(
        parameters={"pattern": ["uniform", "transpose"], "topology.w": [2, 3]},
        derived={"storage": "topology.buffer_flits * topology.virtual_channels", "kept": "accepted / load"},
        objectives=["max accepted", "min storage"],
        baseline={"topology.buffer_flits": 4},
        constraints="accepted > 0.2",
    )
    result = run_sweep(given, tmp_path / "out", 1)
    table = result.table
    assert (len(table), result.failed) == (8, 2)
    failed = table.filter(table["status"] == "error")
    assert set(failed["error"]) == {
        "pattern transpose needs as many columns as rows, and mesh_8x8_credit has 3 x 2 nodes; set k"
    }
    assert table.columns[:9] == [
        *("load", "window", "topology.k", "topology.buffer_flits", "pattern", "topology.w"),
        *("loads", "packet_flits", "seed"),
    ]
    assert table.columns[9:12] == ["latency_ns", "accepted", "saturation_load"]
    assert "bottleneck" not in table.columns
    assert "bench_digest" not in table.columns
    assert table.columns[-5:] == ["storage", "kept", "feasible", "accepted_vs_baseline", "storage_vs_baseline"]
    good = table.filter((table["pattern"] == "uniform") & (table["topology.w"] == 2))
    shallow, deep = good.rows(named=True)
    assert shallow["accepted"] < deep["accepted"]
    assert shallow["accepted_vs_baseline"] == shallow["accepted"] / deep["accepted"]
    assert (shallow["storage"], shallow["kept"]) == (4.0, shallow["accepted"] / 0.5)
    again = run_sweep(given, tmp_path / "out", 1)
    assert len(again.plan.missing) == 0
    assert again.table.equals(table)


@pytest.mark.slow
def test_workers_make_the_same_table(tmp_path: Path) -> None:
    alone, shared = (run_sweep(grid(), tmp_path / str(n), n).table.drop("wall_s") for n in (1, 2))
    assert alone.equals(shared)


def test_a_bench_keeps_its_own_columns(tmp_path: Path) -> None:
    table = run_sweep(fakes.toy_grid(tmp_path, M=[1]), tmp_path / "out", 1, run=fakes.run_fake).table
    assert "bottleneck" in table.columns
    assert "accepted" not in table.columns


TANTO: dict[str, Any] = {"bench": "tanto-unary", "topology": "tensix_tiny", "parameters": {"tiles": 1, "frame": 1}}


def test_a_sweep_of_a_tanto_bench(tmp_path: Path) -> None:
    """Fields of the chip vary, a point without room in L1 is a row with its error, and a second sweep finds all rows."""
    given = {
        **TANTO,
        "parameters": {
            **TANTO["parameters"],
            "cores": [1, 2],
            "topology.tensix_noc.hop_ns": [2, 20],
            "topology.tensix_core.l1_bytes": ["4 KiB", "64 KiB"],
        },
    }
    result = run_sweep(given, tmp_path, 1)
    table = result.table
    assert (len(table), result.failed) == (8, 4)
    small = table.filter(table["status"] == "error")
    assert set(small["topology.tensix_core.l1_bytes"]) == {4096}
    assert "L1" in small["error"][0]
    near, far = table.filter((table["status"] == "ok") & (table["cores"] == 1))["latency_ns"]
    assert near < far
    again = run_sweep(given, tmp_path, 1)
    assert (len(again.plan.missing), again.table.equals(table)) == (0, True)
    assert plan_sweep(given, tmp_path).points[0].front_end == "tanto-bench"


def test_a_changed_kernel_of_a_tanto_bench_is_another_bench(tmp_path: Path) -> None:
    shutil.copytree(Path("benches/tanto"), tmp_path / "tanto")
    given = {**TANTO, "bench": f"{tmp_path}/tanto/elementwise.py:tanto-unary"}
    before = plan_sweep(given).points[0].key
    kernel = tmp_path / "tanto/kernels/unary.cpp"
    kernel.write_text(kernel.read_text() + "// changed\n")
    assert plan_sweep(given).points[0].key != before


def test_tanto_benches_and_others_have_families_of_their_own() -> None:
    assert refusal({**TANTO, "topology": "tiny", "mode": "auto"}) == [
        "grid: mode auto bounds benches of family 'sip'; give hybrid or flit for Tanto programs",
        "grid: Tanto programs run on family 'tensix', and topology 'tiny' is of family 'sip'; give one such as wormhole_n150",
    ]
    assert refusal({**TANTO, "bench": "vector-add", "parameters": {}}) == [
        "grid: topology 'tensix_tiny' is of family 'tensix', which runs Tanto programs, and bench 'vector-add' is none; "
        "give a topology of family 'sip', such as sip_2x4x4, or declare it with @bench(..., system='tanto')"
    ]


def write_program(folder: Path, **tiles: int) -> None:
    """A kernel that reads tiles, and a program file by each name with so many of them."""
    (folder / "read.cpp").write_text(support.COPY_IN)
    for name, count in tiles.items():
        program = {
            "globals": [support.buffer(0, 4096)],
            "pipes": [support.pipe(2, 0, tiles=4)],
            "kernels": [support.kernel(0, "read.cpp", [{"g": 0}, {"p": 2}, count])],
        }
        (folder / f"{name}.json").write_text(json.dumps(program))


def test_a_sweep_compares_tanto_programs(tmp_path: Path) -> None:
    write_program(tmp_path, one=1, four=4, seven=7)
    names = [str(tmp_path / f"{name}.json") for name in ("one", "four", "seven")]
    given = {
        "bench": names[0],
        "topology": "tensix_tiny",
        "parameters": {"program": names, "topology.tensix_dram.access_ns": [10, 100]},
    }
    result = run_sweep(given, tmp_path / "out", 1)
    table = result.table
    near, far, four, *_ = table["latency_ns"]
    assert near + 90 == far < four
    stuck = table.filter(table["status"] == "error")
    assert (len(stuck), result.failed) == (2, 2)
    assert "deadlock" in stuck["error"][0]
    before = plan_sweep(given, tmp_path / "out")
    assert len(before.missing) == 0
    (tmp_path / "read.cpp").write_text(support.COPY_IN + "// changed")
    assert len(plan_sweep(given, tmp_path / "out").missing) == 6


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"bench": "none.json"}, "grid: none.json: a program file cannot be read: No such file or directory"),
        (
            {"topology": "tiny"},
            "Tanto programs run on family 'tensix', and topology 'tiny' is of family 'sip'; give one such as wormhole_n150",
        ),
        (
            {"mode": "analytic"},
            "grid: mode analytic bounds benches of family 'sip'; give hybrid or flit for Tanto programs",
        ),
        ({"parameters": {"kernel": "k"}}, "grid: a program file has no parameter 'kernel'; did you mean 'kernels'?"),
        ({"parameters": {"kernels": "none"}}, "grid: kernels takes a folder, and none is none"),
        ({"parameters": {"kernels": "."}}, "grid: no kernel file 'read.cpp' in ."),
        ({"parameters": {"inputs": "7=x.npy"}}, "grid: inputs 7=x.npy: the program has no global 7; it has [0]"),
        ({"parameters": {"defines": "=2"}}, "grid: defines =2: expected NAME=TEXT"),
    ],
)
def test_programs_that_cannot_run_are_refused(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    write_program(tmp_path, one=1)
    given = {"bench": str(tmp_path / "one.json"), "topology": "tensix_tiny", "parameters": {}, **changes}
    assert sentence in refusal(given)[0]
