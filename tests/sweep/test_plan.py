from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine import topology
from kernbench.sweep.plan import MANIFEST, plan_sweep, write_manifest
from kernbench.sweep.results.store import Store
from kernbench.sweep.row import ERROR, LOST, failed_row, ok_row
from tests.sweep import fakes


def test_a_plan_runs_nothing_and_writes_nothing(tmp_path: Path) -> None:
    plan = plan_sweep(fakes.toy_grid(tmp_path, M=[1, 2]), tmp_path / "out")
    assert (len(plan.points), len(plan.missing)) == (2, 2)
    assert not (tmp_path / "out").exists()


def test_a_grid_without_points_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        plan_sweep({**fakes.toy_grid(tmp_path, M=[1, 2]), "where": "M > 2"}, tmp_path / "out")
    assert str(caught.value) == "grid: no point is left; let the conditions keep some"


def test_a_plan_reads_the_topology_once_and_checks_each_choice_of_fields_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, checked = topology.read_topology, topology.check_parsed
    reads: list[dict[str, object]] = []
    checks: list[dict[str, object]] = []

    def counted_read(path: Path, overrides: Mapping[str, object]) -> topology.ParsedTopology:
        reads.append(dict(overrides))
        return read(path, overrides)

    def counted_check(found: topology.ParsedTopology, overrides: Mapping[str, object]) -> topology.Topology:
        checks.append(dict(overrides))
        return checked(found, overrides)

    monkeypatch.setattr(topology, "read_topology", counted_read)
    monkeypatch.setattr(topology, "check_parsed", counted_check)
    fields = {"topology.hbm.channel_gbs": [8, 16], "topology.noc.gbs": ["9 GB/s", "10 GB/s"]}
    plan_sweep(fakes.toy_grid(tmp_path, M=[1, 2], **fields), tmp_path / "out")
    assert reads == [{}]
    assert sorted(map(str, checks)) == sorted(set(map(str, checks)))
    assert len(checks) == 1 + 2 + 3  # as it stands; each text with a unit; the first point with each value of an axis


def test_results_go_to_a_directory_of_the_grids_name(tmp_path: Path) -> None:
    assert plan_sweep(fakes.toy_grid(tmp_path, M=1)).directory == Path("results", "toy")


def test_figures_with_units_are_numbers_everywhere(tmp_path: Path) -> None:
    field = "topology.ucie.overhead_ns"
    grid = fakes.toy_grid(tmp_path, **{field: ["4 ns", "0.008 us", 8]})
    points = plan_sweep(
        {**grid, "constraints": f"{field} > 4", "baseline": {field: "2000 ps"}}, tmp_path / "out"
    ).points
    assert [point.overrides for point in points] == [{"ucie.overhead_ns": 8}, {"ucie.overhead_ns": 2}]
    assert points.frame([field], np.arange(2))[field].dtype.is_numeric()


def test_what_is_missing_depends_on_how_it_ended(tmp_path: Path) -> None:
    grid = fakes.toy_grid(tmp_path, M=[1, 2, 3, 4])
    points = plan_sweep(grid, tmp_path / "out").points
    store = Store(tmp_path / "out")
    for point, row in zip(
        points, (ok_row(fakes.result(1.0)), failed_row(ERROR, "no"), failed_row(LOST, "no")), strict=False
    ):
        store.append({**row, "key": point.key})
    store.flush()
    missing = {retry: list(plan_sweep(grid, tmp_path / "out", retry=retry).missing) for retry in (False, True)}
    assert missing == {False: list(points[2:]), True: list(points[1:])}


def test_a_changed_input_is_named_while_points_are_missing(tmp_path: Path) -> None:
    grid = fakes.toy_grid(tmp_path, M=[1, 2])
    plan = plan_sweep(grid, tmp_path / "out")
    write_manifest(plan)
    assert plan_sweep(grid, tmp_path / "out").changed == ()
    bench = tmp_path / "toy.py"
    bench.write_text(fakes.TOY + "# edited\n", encoding="utf-8")
    assert plan_sweep(grid, tmp_path / "out").changed == (f"bench {bench}",)


@pytest.mark.slow
@pytest.mark.parametrize("name", library.list_names("sweeps"))
def test_every_shipped_grid_can_run(tmp_path: Path, name: str) -> None:
    plan = plan_sweep(name, tmp_path / "out")
    assert len(plan.points) > 5
    assert plan.grid.description


def test_a_broken_manifest_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MANIFEST).write_text("{", encoding="utf-8")
    assert plan_sweep(fakes.toy_grid(tmp_path, M=1), tmp_path / "out").changed == ()


def test_a_manifest_notes_the_code_that_points_may_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    for suffix in (".yaml", ".py"):
        shipped = (library.shipped() / "models" / f"systolic{suffix}").read_text(encoding="utf-8")
        Path(f"models/array{suffix}").write_text(shipped, encoding="utf-8")
    grid = fakes.toy_grid(tmp_path, M=[1], **{"topology.parts.pe_gemm": ["pe_gemm", "array"]})
    plan = plan_sweep(grid, tmp_path / "out")
    write_manifest(plan)
    noted = json.loads((tmp_path / "out" / MANIFEST).read_text(encoding="utf-8"))["code"]
    files = [Path(str(grid["bench"])), tmp_path / "models" / "array.py"]
    assert noted == {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files)}
