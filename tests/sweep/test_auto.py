"""Mode auto against running everything with events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kernbench.errors import InputError
from kernbench.sweep import auto as auto_module
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.results.derived_columns import objectives_of
from kernbench.sweep.results.pareto import pareto_front
from kernbench.sweep.run import run_sweep

GEMM = {"M": 64, "N": 64, "K": [64, 128]}


def grid(mode: str, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "g",
        "bench": "matmul-composite",
        "topology": "tiny",
        "mode": mode,
        "parameters": parameters,
        **more,
    }


def front(result: Any) -> list[tuple[Any, ...]]:
    """The answers of a sweep: points and what was asked for, in no order."""
    objectives = objectives_of(result.plan.grid)
    names = [axis.name for axis in result.plan.grid.axes] + [objective.column for objective in objectives]
    return sorted(pareto_front(result.table, objectives).select(names).rows())


AXES = {
    "topology.hbm.channel_gbs": [2, 4, 8, 16, 32],
    "topology.noc.gbs": [16, 32, 64, 128, 256],
    "topology.pe_gemm.tflops_f16": [0.25, 0.5, 1, 2],
    "topology.pe_dma.read_channels": [1, 2, 4],
    "topology.ucie.overhead_ns": [0, 8, 64],
}
ASKED = [
    {},
    {"objectives": ["min latency_ns", "min cost"]},
    {"objectives": ["min latency_ns", "min cost"], "constraints": "latency_ns <= 900"},
    {"objectives": ["min edp", "min cost"], "exclude": "pe_exec_ns > 800"},
    {"objectives": ["max achieved_tflops", "min cost"]},
]
DERIVED = {
    "cost": "topology.hbm.channel_gbs + topology.noc.gbs / 8 + 4 * topology.pe_gemm.tflops_f16",
    "edp": "latency_ns * cost / 1000",
}


@pytest.mark.slow
@settings(max_examples=4, phases=[Phase.generate], deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    names=st.lists(st.sampled_from(sorted(AXES)), unique=True, min_size=2, max_size=3),
    asked=st.sampled_from(ASKED),
    data=st.data(),
)
def test_the_front_is_that_of_running_everything(tmp_path_factory, names, asked, data):
    chosen = {
        name: data.draw(st.lists(st.sampled_from(AXES[name]), unique=True, min_size=1, max_size=3)) for name in names
    }
    parameters = {**GEMM, "K": 64, "topology.hbm.channel_gbs": 8, "topology.noc.gbs": 64, **chosen}
    out: Path = tmp_path_factory.mktemp("auto")
    exact = run_sweep(grid("hybrid", parameters, derived=DERIVED, **asked), out / "events", 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            auto_module, "MANY_POINTS", data.draw(st.sampled_from([1, 100]))
        )  # queues of all points, or of none
        auto = run_sweep(grid("auto", parameters, derived=DERIVED, **asked), out / "auto", 1)
    assert front(auto) == front(exact)
    ran = auto.table.filter(auto.table["fidelity"] == "hybrid")
    assert auto.decided is not None
    assert auto.decided.ran == len(ran)
    figures = [*parameters, "latency_ns", "events"]
    assert set(ran.select(figures).rows()) <= set(exact.table.select(figures).rows())


LARGE = {
    **GEMM,
    "K": 64,
    "topology.hbm.channel_gbs": {"logspace": [4.0, 64.0, 9]},
    "topology.noc.gbs": {"logspace": [32.0, 512.0, 9]},
    "topology.pe_gemm.tflops_f16": {"logspace": [0.25, 8.0, 8]},
}


@pytest.mark.slow
def test_few_points_run_and_none_twice(tmp_path: Path) -> None:
    asked = {"derived": DERIVED, "objectives": ["min latency_ns", "min cost"], "constraints": "latency_ns <= 2000"}
    heard: list[str] = []
    result = run_sweep(grid("auto", LARGE, **asked), tmp_path, 1, lambda _, row: heard.append(row["fidelity"]))
    assert result.decided is not None
    assert len(result.table) == result.decided.points == heard.count("analytic") == 648
    assert result.decided.ran == heard.count("hybrid") <= 64
    assert str(result.decided).startswith(
        f"{result.decided.ran} of 648 points ran with events; lower bounds of a control"
    )
    assert len(result.decided.tightness) == 6
    assert all(0.5 < tight <= 1 for tight in result.decided.tightness)
    table = result.table.filter(result.table["fidelity"] == "hybrid")
    assert (table["lower_ns"] <= table["latency_ns"]).all()
    assert (table["latency_ns"] <= table["upper_ns"]).all()
    again = run_sweep(grid("auto", LARGE, **asked), tmp_path, 1, lambda _, row: heard.append(row["fidelity"]))
    assert len(heard) == 648 + result.decided.ran
    assert again.table.equals(result.table)


def test_what_auto_is_not_for(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        plan_sweep(grid("auto", {"M": [64, 128]}, method="optimise", samples=3, objectives="min latency_ns"), tmp_path)
    assert str(caught.value) == "grid: mode auto looks at all points, method optimise at few; choose one"
    with pytest.raises(InputError, match="unknown mode 'autos'; did you mean 'auto'"):
        plan_sweep(grid("autos", {"M": [64, 128]}), tmp_path)


@pytest.mark.slow
def test_rates_are_bounded_by_the_least_time(tmp_path: Path) -> None:
    parameters = {**GEMM, "K": 64, "topology.hbm.channel_gbs": [2, 4, 8, 16], "topology.noc.gbs": [16, 32, 64, 128]}
    asked = {"derived": DERIVED, "objectives": ["max achieved_tflops", "min cost"]}
    exact = run_sweep(grid("hybrid", parameters, **asked), tmp_path / "events", 1)
    auto = run_sweep(grid("auto", parameters, **asked), tmp_path / "auto", 1)
    assert front(auto) == front(exact)
    assert auto.decided is not None
    assert auto.decided.ran < auto.count == 16
    bounded = (auto.table["fidelity"] == "analytic").to_list()
    pairs = zip(auto.table["achieved_tflops"], exact.table["achieved_tflops"], bounded, strict=True)
    assert all(most >= rate if bound else most == rate for most, rate, bound in pairs)


@pytest.mark.slow
def test_queues_settle_what_paths_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention, whose PEs read the same keys: bounds that know of queues are closer, and are what the table says."""
    parameters = {
        "users": 1,
        "tokens": 64,
        "heads": 8,
        "kv_heads": 1,
        "tile": 16,
        "topology.hbm.channel_gbs": {"logspace": [2.0, 32.0, 5]},
        "topology.noc.gbs": {"logspace": [32.0, 256.0, 4]},
    }
    asked = {"bench": "attention-prefill", "objectives": ["min latency_ns", "min cost"]}
    asked["derived"] = {"cost": "4 * topology.hbm.channel_gbs + topology.noc.gbs"}
    queues = run_sweep(grid("auto", parameters, **asked), tmp_path / "queues", 1)
    again = run_sweep(grid("auto", parameters, **asked), tmp_path / "queues", 1)
    monkeypatch.setattr(auto_module, "MANY_POINTS", 100)
    paths = run_sweep(grid("auto", parameters, **asked), tmp_path / "paths", 1)
    exact = run_sweep(grid("hybrid", parameters, **asked), tmp_path / "events", 1)
    assert front(queues) == front(paths) == front(exact)
    assert queues.decided is not None
    assert paths.decided is not None
    assert queues.decided.ran < paths.decided.ran
    assert again.table.equals(queues.table)
    assert (paths.table["lower_ns"] <= queues.table["lower_ns"]).all()
    assert (paths.table["lower_ns"] < queues.table["lower_ns"]).any()
    assert (queues.table["lower_ns"] <= exact.table["latency_ns"]).all()
