from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.engine.jit_status import RUN_POINTS, RUN_WITH_CREDITS
from kernbench.errors import InputError
from kernbench.sweep.execution import executor as module
from kernbench.sweep.execution.executor import ExecutorConfig, execute
from kernbench.sweep.execution.shared_structure import SharedStructure
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.results.store import Store
from tests.sweep import fakes
from tests.sweep.results.test_store import kept


def test_a_crew_has_someone() -> None:
    with pytest.raises(InputError) as caught:
        ExecutorConfig(0)
    assert str(caught.value) == "workers are 1 or more, not 0"
    with pytest.raises(InputError) as caught:
        ExecutorConfig(scheduler="procesess")
    assert str(caught.value) == (
        "scheduler 'procesess' is none; give local, processes or an address such as tcp://localhost:8786"
    )
    assert ExecutorConfig(5).count(3) == 3
    assert ExecutorConfig(1).count(3) == ExecutorConfig().count(1) == ExecutorConfig().count(0) == 1


def test_rows_are_on_the_disk_when_they_are_heard_of(tmp_path: Path) -> None:
    plan = plan_sweep(fakes.toy_grid(tmp_path, M=[1, 2, 13]), tmp_path / "out")
    store = Store(plan.directory, plan.inputs.stamp)
    seen = []

    def hear(point, row) -> None:
        rows = kept(plan.directory)
        assert rows.filter(rows["key"] == point.key)["latency_ns"].to_list() == [row["latency_ns"]]
        seen.append(point.parameters["M"])

    execute(plan.points, store, ExecutorConfig(1, run=fakes.run_fake), hear)
    assert seen == [1, 2, 13]


@pytest.mark.slow
@pytest.mark.parametrize("breaks", [InputError, MemoryError])
def test_bounds_that_break_together_are_found_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breaks: type[BaseException]
) -> None:
    broke = []

    def bound(*_arguments: object, **_options: object) -> None:
        broke.append(breaks)
        raise breaks

    monkeypatch.setattr(SharedStructure, "bound", bound)
    monkeypatch.setattr(module, "MANY_BOUNDS", 3)
    grid = {"name": "g", "bench": "vector-add", "topology": "tiny", "mode": "analytic"}
    plan = plan_sweep({**grid, "parameters": {"n": 4096, "topology.noc.gbs": [50.0, 100.0, 200.0]}}, tmp_path / "out")
    execute(plan.points, Store(plan.directory, plan.inputs.stamp), ExecutorConfig(1), lambda _point, _row: None)
    assert kept(plan.directory)["status"].to_list() == ["ok"] * 3
    assert broke


@pytest.mark.slow
def test_bounds_of_many_points_come_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BOUNDS", 40)
    grid = {"name": "g", "bench": "vector-add", "topology": "tiny", "mode": "analytic"}
    grid |= {"parameters": {"n": 4096, "topology.noc.gbs": {"linspace": [50.0, 500.0, 100]}}}
    plan = plan_sweep(grid, tmp_path / "out")
    heard: list[float] = []
    execute(
        plan.points,
        Store(plan.directory, plan.inputs.stamp),
        ExecutorConfig(1),
        lambda _, row: heard.append(row["latency_ns"]),
    )
    assert len(list((tmp_path / "out" / "parts").glob("*.parquet"))) == 3
    assert sorted(heard, reverse=True) == heard
    assert sorted(kept(plan.directory)["latency_ns"]) == sorted(heard)


@pytest.mark.parametrize(
    ("flow_control", "lacking", "compiled_here"),
    [
        ("credit", {RUN_WITH_CREDITS}, True),
        ("credit", {RUN_POINTS}, False),
        ("unbounded", {RUN_POINTS}, True),
        ("unbounded", {RUN_WITH_CREDITS}, False),
        ("unknown", {RUN_POINTS, RUN_WITH_CREDITS}, True),
        ("unknown", set(), False),
    ],
)
def test_one_process_compiles_the_loop_that_the_machine_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flow_control: str, lacking: set[str], compiled_here: bool
) -> None:
    """The machine, unknown here, is loaded only if that tells."""
    here = list[int]()
    monkeypatch.setattr(module, "needs_compile", lambda name: name in lacking)
    if flow_control == "unknown":
        monkeypatch.setattr(module, "load_machine", lambda *_: pytest.fail("the machine is loaded"))
        flow_control = "unbounded"
    monkeypatch.setattr(module, "run_here", lambda batches, _run: here.extend(map(len, batches)) or [])
    monkeypatch.setattr(module, "run_in_workers", lambda batches, *_rest: list(batches) and [])
    fields = {"topology.flow_control": [flow_control], "topology.noc.gbs": [50.0, 100.0]}
    grid = {"name": "g", "bench": "vector-add", "topology": "tiny", "parameters": {"n": 4096, **fields}}
    plan = plan_sweep(grid, tmp_path / "out")
    list(module._start_workers(module.make_batches([plan.points], 9), 2, ExecutorConfig(2)))
    assert here == [1] * compiled_here
