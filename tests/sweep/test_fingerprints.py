from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.sweep.design.full_factorial import expand
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.fingerprints import check_fields, read_inputs
from kernbench.sweep.grid.grid import load_grid
from kernbench.sweep.point import Point
from tests.sweep import fakes


def points(given: dict[str, Any]) -> list[Point]:
    grid = load_grid(given)
    inputs = read_inputs(grid)
    found = inputs.points(grid, expand(ParameterSpace(grid, inputs.defaults)))
    check_fields(grid, inputs.topology, found)
    return list(found)


def refusal(directory: Path, **parameters: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        points(fakes.toy_grid(directory, **parameters))
    return str(caught.value).split("\n")


def test_a_point_has_all_parameters_typed(tmp_path: Path) -> None:
    (point,) = points(fakes.toy_grid(tmp_path, M="8", **{"topology.hbm.channel_gbs": 16}))
    assert point.parameters == {"M": 8, "N": 2, "dtype": "f16"}
    assert point.overrides == {"hbm.channel_gbs": 16}
    assert (point.bench, point.topology, point.mode) == (f"{tmp_path / 'toy.py'}:toy", "tiny", "hybrid")


def test_the_same_point_twice_is_one(tmp_path: Path) -> None:
    assert len(points(fakes.toy_grid(tmp_path, M=[1, 2, 1]))) == 2


def test_the_key_is_of_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = fakes.toy_grid(tmp_path, M=[1, 2])
    first = [point.key for point in points(grid)]
    assert len(set(first)) == 2
    monkeypatch.chdir(tmp_path)
    assert [point.key for point in points({**grid, "bench": "./toy.py"})] == first
    assert [point.key for point in points({**grid, "parameters": {"M": [2, 1], "N": 2}, "name": "other"})] == first[
        ::-1
    ]
    for changed in ({"parameters": {"M": [1, 2], "N": 3}}, {"parameters": {"M": [1, 2], "topology.hbm.channels": 4}}):
        assert not set(first) & {point.key for point in points({**grid, **changed})}


def test_the_key_changes_with_the_bench_and_the_topology(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = fakes.toy_grid(tmp_path, M=1)
    monkeypatch.chdir(tmp_path)
    first = points(grid)[0].key
    Path("toy.py").write_text(fakes.TOY + "# edited\n", encoding="utf-8")
    second = points(grid)[0].key
    shipped = Path(__file__).parents[2] / "topology" / "tiny.yaml"
    Path("topology").mkdir()
    text = shipped.read_text(encoding="utf-8")
    Path("topology", "tiny.yaml").write_text(text + "# a comment changes no machine\n", encoding="utf-8")
    same = points(grid)[0].key
    Path("topology", "tiny.yaml").write_text(text.replace("gap_mm: 1.0", "gap_mm: 2.0"), encoding="utf-8")
    third = points(grid)[0].key
    assert (len({first, second, third}), same) == (3, second)


def test_unknown_parameters_are_refused_with_their_line(tmp_path: Path) -> None:
    fakes.write_toy(tmp_path)
    path = tmp_path / "grid.yaml"
    path.write_text(
        f"bench: {tmp_path / 'toy.py'}\ntopology: tiny\nparameters:\n  MM: [1]\n  hbm.channels: [4]\n  N: [x]\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError) as caught:
        read_inputs(load_grid(path))
    assert str(caught.value).split("\n") == [
        f"{path}:4:3: bench 'toy' has no parameter 'MM'; did you mean 'M'? Known: M, N, dtype",
        f"{path}:5:3: bench 'toy' has no parameter 'hbm.channels'; known: M, N, dtype "
        "(fields of the topology begin with 'topology.')",
        f"{path}:6:3: parameter 'N' of bench 'toy' is int, as its default 2; got 'x'",
    ]


def test_capitals_do_not_hide_what_is_meant(tmp_path: Path) -> None:
    found = refusal(tmp_path, m=[1])
    assert found[0] == "grid: bench 'toy' has no parameter 'm'; did you mean 'M'? Known: M, N, dtype"


def test_an_unknown_mode_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        points({**fakes.toy_grid(tmp_path, M=1), "mode": "flitt"})
    assert str(caught.value).startswith("grid: unknown mode 'flitt'; did you mean 'flit'?")


def test_a_bench_is_not_run_on_a_bare_network(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        points({**fakes.toy_grid(tmp_path, M=1), "topology": "mesh_8x8"})
    assert str(caught.value) == (
        "grid: topology 'mesh_8x8' is of family 'mesh', a bare network without PEs to run a bench on; "
        "give one of family 'sip', or a pattern in place of the bench"
    )


def test_unknown_benches_and_topologies_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text("bench: no-such-bench-anywhere.py\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_inputs(load_grid(path))
    assert str(caught.value).startswith(f"{path}:1:8: unknown bench 'no-such-bench-anywhere.py'")
    path.write_text(f"bench: {fakes.write_toy(tmp_path)}\ntopology: tiney\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_inputs(load_grid(path))
    assert str(caught.value).startswith(f"{path}:2:11: unknown topology 'tiney'; did you mean 'tiny'?")
    path.write_text("bench: no-such-bench\ntopology: tiney\nmode: flitt\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_inputs(load_grid(path))
    said = [line.partition(" ")[0] for line in str(caught.value).splitlines()]
    assert said == [f"{path}:1:8:", f"{path}:2:11:", f"{path}:3:7:"]


def test_fields_of_the_topology_are_checked_value_by_value(tmp_path: Path) -> None:
    found = refusal(
        tmp_path,
        **{
            "topology.hbm.channel_gbs": [8, 16],
            "topology.hbm.chanels": [4],
            "topology.ucie.gbs": [64, -1, "3 apples"],
        },
    )
    assert len(found) == 2
    assert found[0].startswith("grid: unknown topology field 'hbm.chanels'; did you mean 'hbm.channels'?")
    assert found[1].startswith("grid: override ucie.gbs: got -1, expected greater than ")


def test_values_that_fit_only_together_are_not_refused(tmp_path: Path) -> None:
    together = {"topology.flit_bytes": [256, 192], "topology.hbm.burst_bytes": [256, 64]}
    grid = fakes.toy_grid(tmp_path, **together)
    assert len(points({**grid, "zip": [list(together)]})) == 2


def test_a_parameter_named_like_a_result_is_refused(tmp_path: Path) -> None:
    path = fakes.write_toy(tmp_path)
    path.write_text(fakes.TOY.replace("M=1", "events=1"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        points({"bench": str(path), "topology": "tiny"})
    assert str(caught.value) == "grid: the bench's parameter 'events' has the name of a result column; rename it"


@pytest.mark.parametrize("name", ["own", "./models/own.yaml"])
def test_the_key_follows_the_sheets_and_classes_that_points_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    sheet, text = Path("models/own.yaml"), Path("models/own.py")
    sheet.parent.mkdir()
    sheet.write_text("kind: pe_gemm\ndescription: d\nparameters:\n  cycles: {value: 5, source: s}\n")
    text.write_text(
        "from typing import ClassVar\nfrom kernbench.parts.part import Part\nclass Own(Part):\n"
        '    kind: ClassVar[str] = "pe_gemm"\n    cycles: int\n'
        '    def product(self, m, k, n, bits):\n        return {"cycles": 1}\n'
    )
    grid = fakes.toy_grid(tmp_path, **{"topology.parts.pe_gemm": name, "topology.pe_gemm.cycles": [5, 6]})
    keys = [point.key for point in points(grid)]
    text.write_text(text.read_text() + "#\n")
    keys += [point.key for point in points(grid)]
    sheet.write_text(sheet.read_text().replace("5", "4"))
    keys += [point.key for point in points(grid)]
    assert len(set(keys)) == 6


def test_objectives_and_baselines_name_what_is_there(tmp_path: Path) -> None:
    given = fakes.toy_grid(tmp_path, M=[1, 2])
    with pytest.raises(InputError) as caught:
        points({**given, "objectives": {"latency": "min", "dtype": "max"}, "baseline": {"N": 2, "M": "x"}})
    lines = str(caught.value).split("\n")
    assert lines[0] == "grid: parameter 'M' of bench 'toy' is int, as its default 1; got 'x'"
    assert lines[1].startswith("grid: objectives: 'latency' is no column of numbers; did you mean 'latency_ns'?")
    assert lines[2].startswith("grid: objectives: 'dtype' is no column of numbers; known: M, N, achieved_gbs")
    assert lines[3] == "grid: baseline: 'N' is not among the parameters; known: M"
    with pytest.raises(InputError, match=r"^grid: objectives: 'wall_s' is no column of numbers; known: M, N"):
        points({**given, "objectives": "min wall_s"})


def test_an_integer_that_no_table_holds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        points(fakes.toy_grid(tmp_path, M=[str(2**63), -(2**63)]))
    assert str(caught.value) == f"grid: parameter 'M': got {2**63}, expected an integer of at most 64 bits"


def test_every_row_carries_what_it_came_from(tmp_path: Path) -> None:
    stamp = read_inputs(load_grid(fakes.toy_grid(tmp_path, M=1))).stamp
    assert list(stamp) == ["bench_digest", "topology_digest", "kernbench"]
    assert [len(stamp[name]) for name in ("bench_digest", "topology_digest")] == [16, 16]
    version, plus, digest = stamp["kernbench"].partition("+")
    assert (version[0].isdigit(), plus, len(digest)) == (True, "+", 16)


KEYS = """
from kernbench.sweep.plan import plan_sweep
print(*(point.key for point in plan_sweep({"bench": "vector-add", "topology": "tiny"}, "results").points))
"""


@pytest.mark.slow
def test_a_wheel_finds_the_rows_of_the_checkout_that_it_was_built_from(tmp_path: Path) -> None:
    checkout, site = Path(__file__).parents[2], tmp_path / "site"
    wheel = tomllib.loads((checkout / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    folders = {**{name: name for name in wheel["packages"]}, **wheel["force-include"]}
    for source, place in folders.items():
        ignored = shutil.ignore_patterns("__pycache__", "page", "node_modules")
        shutil.copytree(checkout / source, site / place, ignore=ignored)

    def keys(home: Path) -> str:
        environment = {**os.environ, "PYTHONPATH": str(home)}
        command = [sys.executable, "-c", KEYS]
        return subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    assert keys(site) == keys(checkout)
