"""Names of fields: by their paths, and as grids, tables and `--set` have them; one way through all functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kernbench
from kernbench.errors import InputError
from kernbench.machine.overrides import read_overrides, split_settings
from kernbench.machine.setting_names import check_names

PATH, NAME = "hbm.channel_gbs", "topology.hbm.channel_gbs"


def test_a_name_and_a_path_are_one_field() -> None:
    assert read_overrides({NAME: 64, "noc.gbs": 8}) == {PATH: 64, "noc.gbs": 8}
    assert read_overrides(None) == {}


def test_fields_among_settings_are_overrides() -> None:
    assert split_settings({"M": 1, NAME: 64}, {"noc.gbs": 8}) == ({"M": 1}, {"noc.gbs": 8, PATH: 64})
    assert split_settings(None) == ({}, {})


@pytest.mark.parametrize("overrides", [{PATH: 1, NAME: 2}, {NAME: 2, PATH: 1}])
def test_a_field_that_is_given_twice_is_refused(overrides: dict[str, int]) -> None:
    sentence = f"the field '{PATH}' is given as '{PATH}' and as '{NAME}'; give it once"
    with pytest.raises(InputError, match=f"^{sentence}$"):
        read_overrides(overrides)
    with pytest.raises(InputError, match=f"^{sentence}$"):
        split_settings({NAME: 2}, {PATH: 1})


def test_a_field_that_is_given_twice_by_its_name_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        split_settings({NAME: 2}, {NAME: 1})
    assert str(caught.value) == f"the field '{NAME}' is given among the parameters and as an override; give it once"


def test_topology_stands_once_before_a_field() -> None:
    with pytest.raises(InputError, match=f"^'topology.{NAME}' has 'topology.' twice; give '{NAME}'$"):
        read_overrides({f"topology.{NAME}": 1})


@pytest.mark.parametrize("given", [[f"{PATH}=64"], PATH, 64, {1: 2}])
def test_settings_are_mappings(given: Any) -> None:
    with pytest.raises(InputError, match=r"^overrides must map names to values, as {'hbm.channel_gbs': 64}; got "):
        run(overrides=given)
    with pytest.raises(InputError, match=r"^parameters must map names to values, as {'M': 64}; got "):
        run(parameters=given)


@pytest.mark.parametrize("given", [{"overrides": {"nbytes": 64}}, {"parameters": {"topology.nbytes": 64}}])
def test_a_parameter_among_the_fields_is_told_where_it_belongs(given: Any) -> None:
    sentence = (
        "'nbytes' is a parameter of bench 'pe-to-pe' and no field of topology 'tiny'; "
        "give it as 'nbytes' among the parameters"
    )
    with pytest.raises(InputError, match=f"^{sentence}$"):
        run(**given)


def test_a_sweep_tells_where_a_parameter_belongs(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"^'nbytes' is a parameter of pe-to-pe and no field of topology 'tiny'; give it"
    ):
        kernbench.sweep("pe-to-pe", tmp_path, 1, topology="tiny", overrides={"nbytes": [64]})


@pytest.mark.parametrize("name", [{PATH: 64}, 5, ["tiny"]])
def test_a_machine_is_a_name(name: Any) -> None:
    with pytest.raises(InputError, match=r"^unknown topology "):
        kernbench.run("pe-to-pe", name, mode="analytic")


def test_known_names_pass_without_reading_the_topology() -> None:
    check_names(["M", "N"], ["M", "N"], "no-such-topology", owner="bench 'gemm'", option="--set")


@pytest.mark.parametrize(("option", "takes"), [("--set", "--set takes"), ("parameters", "give")])
@pytest.mark.parametrize(("name", "near"), [(PATH, f" did you mean '{NAME}'?"), ("zzz", "")])
def test_an_unknown_name_is_answered_with_both_kinds(name: str, near: str, option: str, takes: str) -> None:
    with pytest.raises(InputError) as caught:
        check_names(["M", name], ["M", "N"], "tiny", owner="bench 'gemm'", option=option)
    sentence = str(caught.value)
    assert sentence.startswith(
        f"bench 'gemm' has no parameter {name!r};{near} {takes} its parameters (M, N) or fields of topology 'tiny' "
        "(topology."
    )
    assert sentence.endswith(" more)")


def run(**given: Any) -> float | None:
    return kernbench.run("pe-to-pe", "tiny", mode="analytic", **given).lower_ns


def test_a_run_takes_a_field_by_either_name() -> None:
    expected = run(overrides={PATH: 1})
    assert expected != run()
    assert run(overrides={NAME: 1}) == run(parameters={NAME: 1}) == expected
    result = kernbench.run("pe-to-pe", "tiny", mode="analytic", parameters={NAME: 1, "nbytes": 512})
    assert result.overrides == {PATH: 1}
    assert result.parameters["nbytes"] == 512


def test_a_sweep_takes_fields_as_a_run_does(tmp_path: Path) -> None:
    def sweep(**given: Any) -> list[dict[str, Any]]:
        table = kernbench.sweep("pe-to-pe", tmp_path, 1, topology="tiny", mode="analytic", **given).table
        return table.select(NAME, "lower_ns").to_dicts()

    expected = sweep(overrides={PATH: [1, 64]})
    assert [row[NAME] for row in expected] == [1, 64]
    assert sweep(overrides={NAME: [1, 64]}) == sweep(parameters={NAME: [1, 64]}) == expected
    point = {name: value for name, value in expected[0].items() if name == NAME}
    assert kernbench.run("pe-to-pe", "tiny", mode="analytic", parameters=point).overrides == {PATH: 1}


def test_every_other_function_takes_a_field_by_either_name() -> None:
    machines = [kernbench.load_machine("tiny", {name: 1}) for name in (PATH, NAME)]
    assert machines[0].digest == machines[1].digest
    for function in (
        lambda fields: kernbench.probe("mesh_8x8", flows=["0:5:4KiB"], overrides=fields).table().to_dicts(),
        lambda fields: kernbench.diagram("mesh_8x8", overrides=fields).svg,
    ):
        assert function({"k": 3}) == function({"topology.k": 3})
    program, _ = kernbench.analytic.record_bench("pe-to-pe", "tiny", parameters={NAME: 1})
    assert program.machine.overrides == {PATH: 1}
    model = kernbench.analytic.BoundModel(program)
    assert model.evaluate({NAME: [1.0, 2.0]}).equals(model.evaluate({PATH: [1.0, 2.0]}))


@pytest.mark.slow
def test_an_evaluation_takes_a_field_by_either_name() -> None:
    settings = {"shapes": [(16, 16, 16)], "variants": ["ref_ref"]}
    tables = [
        kernbench.evaluate("gemm", "tiny", settings={**settings, NAME: 1}),
        kernbench.evaluate("gemm", "tiny", settings=settings, overrides={NAME: 1}),
        kernbench.evaluate("gemm", "tiny", settings=settings, overrides={PATH: 1}),
    ]
    assert all(each.overrides == {PATH: 1} for each in tables)
