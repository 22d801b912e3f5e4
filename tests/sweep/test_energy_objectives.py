"""Sweeps whose objectives are joules, watts, mm² and dollars."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import kernbench
from kernbench import library
from kernbench.errors import InputError
from kernbench.sweep.run import run_sweep

BASE = {
    "bench": "matmul-composite",
    "topology": "tiny",
    "parameters": {"M": [32], "N": [32], "K": [32], "topology.pe_gemm.tflops_f16": [4, 8]},
}


def sweep(tmp_path: Path, objectives: list[str], **more: Any) -> Any:
    grid: Mapping[str, Any] = {**BASE, "objectives": objectives, **more}
    return run_sweep(grid, tmp_path / "out", workers=1)


def test_the_columns_are_those_of_a_run(tmp_path: Path) -> None:
    """Points that run together in a batch have the figures of a run alone, to the last bit."""
    parameters = {**BASE["parameters"], "topology.die_area": ["parts"]}
    table = sweep(tmp_path, ["min energy_j", "min area_mm2"], parameters=parameters).table
    for row in table.iter_rows(named=True):
        overrides = {"pe_gemm.tflops_f16": row["topology.pe_gemm.tflops_f16"], "die_area": "parts"}
        size = dict.fromkeys("MNK", 32)
        run = kernbench.run("matmul-composite", topology="tiny", parameters=size, overrides=overrides)
        for column in ("energy_j", "dynamic_j", "static_j", "power_w", "area_mm2", "cost_usd"):
            assert row[column] == getattr(run, column), column
        assert row["no_figures"] is None
    assert table["area_mm2"].n_unique() == 2
    assert table["dynamic_j"].n_unique() == 1


def test_tokens_a_joule_are_a_derived_column(tmp_path: Path) -> None:
    found = sweep(tmp_path, ["max per_joule"], derived={"per_joule": "M / energy_j"}).table
    assert found["per_joule"].to_list() == pytest.approx([32 / one for one in found["energy_j"]])


def test_an_objective_without_its_figure_names_sheet_and_field(tmp_path: Path) -> None:
    text = (library.shipped() / "models" / "noc.yaml").read_text()
    (tmp_path / "bare.yaml").write_text(text[: text.index("energy:")])
    parameters = {**BASE["parameters"], "topology.parts.noc": [str(tmp_path / "bare.yaml")]}
    with pytest.raises(
        InputError, match=r"objective energy_j: .*bare.yaml lacks energy.byte_pj; give it, with its unit and source"
    ):
        sweep(tmp_path, ["min energy_j"], parameters=parameters)


def test_a_formula_of_an_objective_needs_its_figures_too(tmp_path: Path) -> None:
    derived = {"once": "M / energy_j", "twice": "2 * once"}
    with pytest.raises(InputError, match="objective energy_j needs runs, and mode auto bounds times alone"):
        sweep(tmp_path, ["max twice"], derived=derived, mode="auto")


def test_an_objective_over_areas_that_are_not_known_is_refused(tmp_path: Path) -> None:
    text = (library.shipped() / "models" / "noc.yaml").read_text()
    (tmp_path / "bare.yaml").write_text(text[: text.index("silicon:")])
    more = {"topology.parts.noc": [str(tmp_path / "bare.yaml")], "topology.die_area": ["parts"]}
    sentence = "objective area_mm2 of machine tiny: no area figure: noc.silicon.area_mm2"
    with pytest.raises(InputError, match=sentence):
        sweep(tmp_path, ["min area_mm2"], parameters={**BASE["parameters"], **more})


def test_bounds_have_no_energy_to_rank_by(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="objective energy_j needs runs, and mode analytic bounds times alone"):
        sweep(tmp_path, ["min energy_j"], mode="analytic")


def test_bounds_have_the_area_and_the_price_of_their_machine(tmp_path: Path) -> None:
    table = sweep(tmp_path, ["min latency_ns", "min cost_usd"], mode="analytic").table
    assert table["cost_usd"].null_count() == 0
    assert table["energy_j"].null_count() == len(table)
