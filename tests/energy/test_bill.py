"""Area, price and peak power of machines, against published tables and figures that are computed by hand."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from kernbench.cli.main import kernbench
from kernbench.energy.bill import find_bill
from kernbench.energy.die_cost import find_die_cost, package_usd
from kernbench.machine import load_machine

PLAIN = {"wafer_mm": 300.0, "edge_mm": 0.0, "scribe_mm": 0.0, "clustering": 3.0}
CUT = {"wafer_mm": 300.0, "edge_mm": 5.0, "scribe_mm": 0.2, "clustering": 10.0}
WAFERS = {7: 9346.0, 5: 16988.0}


@pytest.mark.parametrize(
    ("mm2", "node", "of_ttm", "of_actuary"),
    [
        (826, 7, (0.3545, 62.39, 422.62), (0.4882, 56.60, 338.22)),
        (400, 7, (0.5787, 143.39, 112.63), (0.7021, 129.98, 102.41)),
        (100, 7, (0.8638, 640.22, 16.90), (0.9143, 571.71, 17.88)),
        (100, 5, (0.8240, 640.22, 32.20), (0.8964, 571.71, 33.15)),
        (400, 5, (0.4921, 143.39, 240.77), (0.6501, 129.98, 201.03)),
        (800, 5, (0.2774, 64.80, 945.17), (0.4302, 58.79, 671.59)),
    ],
)
def test_dies_cost_what_both_models_say(
    mm2: int, node: int, of_ttm: tuple[float, ...], of_actuary: tuple[float, ...]
) -> None:
    """ttm-cas, `supply_chain_model.py`, and Chiplet Actuary, `parameter.ini`, each with its own constants."""
    for constants, defects, published in (
        (PLAIN, {7: 0.0015, 5: 0.0020}, of_ttm),
        (CUT, {7: 0.0009, 5: 0.0011}, of_actuary),
    ):
        found = find_die_cost(mm2, {**constants, "defects_mm2": defects[node], "wafer_usd": WAFERS[node]})
        assert found is not None
        assert found.yield_share == pytest.approx(published[0], abs=5e-5)
        assert found.dies_a_wafer == pytest.approx(published[1], abs=5e-3)
        assert found.usd == pytest.approx(published[2], rel=2e-4)


def test_a_die_larger_than_a_wafer_has_no_price() -> None:
    technology = {**PLAIN, "defects_mm2": 0.001, "wafer_usd": 1000.0}
    assert find_die_cost(90_000, technology) is None


def test_a_package_costs_a_fixed_part_and_its_substrate() -> None:
    assert package_usd(1000, {"package_usd": 21, "substrate_usd_mm2": 0.005, "substrate_times": 4}) == 41


def test_area_never_falls_with_size() -> None:
    areas = [
        find_bill(load_machine("tiny", {"pe_tcm.bytes": f"{kib} KiB"})).dies[0].parts_mm2
        for kib in (1024, 2048, 4096, 16384)
    ]
    assert areas == sorted(areas)
    assert areas[0] < areas[-1]


def test_the_bill_of_the_default_machine() -> None:
    bill = find_bill(load_machine("sip_2x4x4"))
    assert [(one.kind, one.count, one.mm2) for one in bill.dies] == [("cube", 32, 270.0), ("io", 2, 450.0)]
    assert bill.area_mm2 == 32 * 270 + 2 * 450
    assert bill.memory_gb == pytest.approx(256 * 6 * 2**30 / 1e9)
    assert bill.memory_usd == pytest.approx(bill.memory_gb * 7)
    cost = (
        sum(one.count * one.cost.usd for one in bill.dies if one.cost)
        + (bill.packages_usd or 0)
        + (bill.memory_usd or 0)
    )
    assert bill.cost_usd == pytest.approx(cost)
    assert bill.missing == ("no price of switch, which is bought for the board",)
    assert bill.warnings == ()
    assert [(one.name, one.dies, one.dies_mm2) for one in bill.packages] == [("sip0", 17, 4770), ("sip1", 17, 4770)]
    assert sum(one.peak_w for one in bill.packages) == pytest.approx(
        bill.peak_w, rel=0.02
    )  # the switch is on the board
    shares = sum(one.usd or 0 for one in bill.parts)
    assert shares == pytest.approx(cost - (bill.packages_usd or 0))


def test_scratchpads_of_caches_do_not_fit_on_a_cube() -> None:
    """160 MiB of 1.7418 mm² at 5 nm are 278.7 mm², more than 270 mm²."""
    fields = ("area_each_mm2", "1.7418 mm2"), ("node_nm", "5 nm")
    overrides = {f"{part}.silicon.{field}": value for part in ("pe_tcm", "sram") for field, value in fields}
    bill = find_bill(load_machine("sip_2x4x4", overrides))
    assert sum(one.mm2 or 0 for one in bill.parts if one.part in ("pe_tcm", "sram")) == pytest.approx(32 * 278.688)
    (warning,) = bill.warnings
    assert warning.startswith("the parts of a die cube take 3")
    assert warning.endswith("and do not fit on its 270.0 mm²")


def test_limits_that_are_exceeded_are_said() -> None:
    limits = {"package_w": "700 W", "reticle_mm2": "400 mm2", "shoreline_gbs_mm": "30 GB/s/mm"}
    bill = find_bill(load_machine("sip_2x4x4", {f"limits.{name}": value for name, value in limits.items()}))
    assert [sentence.partition(" of ")[0].partition(" draws ")[0] for sentence in bill.warnings] == [
        "a die io", "a package", "the edge ucie_W", "the edge ucie_E"
    ]  # fmt: skip
    assert "carries 34.1 GB/s on each mm, each way, more than limits.shoreline_gbs_mm, 30.0 GB/s/mm" in bill.warnings[2]


def test_full_rate_of_a_tray() -> None:
    """2,048 TFLOPS of f16 at 0.5 pJ and 65.536 TB/s of HBM at 32 pJ/B draw 1,024 W and 2,097.152 W."""
    overrides = {
        "technology.node_nm": 7,
        "pe_gemm.energy.flop_16_pj": 0.5,
        "pe_gemm.energy.flop_8_pj": 0,
        "pe_gemm.energy.flop_32_pj": 0,
        "hbm.energy.read_byte_pj": 32,
        "hbm.energy.write_byte_pj": 32,
    }
    peaks = {one.part: one.peak_w for one in find_bill(load_machine("sip_2x4x4", overrides)).parts}
    assert (peaks["pe_gemm"], peaks["hbm"]) == pytest.approx((1024, 2097.152))


def test_full_rate_of_a_systolic_array() -> None:
    """64 x 32 cells at 2 GHz do a tile of 32 x 64 x 32 in 126 cycles: 2.08 TFLOPS, which draw 1.04 W at 0.5 pJ a flop."""
    array = {"parts.pe_gemm": "systolic", "pe_gemm.energy.flop_pj": 0.5, "technology.node_nm": 7}
    (peak,) = (one.peak_w for one in find_bill(load_machine("tiny", array)).parts if one.part == "pe_gemm")
    assert peak == pytest.approx(4 * 0.5 * 2 * 32 * 64 * 32 / 63e3)


def test_a_variant_has_the_area_of_its_rates() -> None:
    from kernbench.machine.variants import Variants

    variants = Variants("tiny", {})
    changed = variants.machine({"pe_gemm.tflops_f16": "32 TFLOPS"})
    assert changed is not None
    assert changed.prices == load_machine("tiny", {"pe_gemm.tflops_f16": 32}).prices
    assert changed.prices != variants.base.prices


def test_show_cost() -> None:
    done = CliRunner().invoke(kernbench, ["show", "sip_2x4x4", "--cost", "--set", "topology.limits.package_w=700 W"])
    assert done.exit_code == 0
    assert done.stdout.startswith("sip_2x4x4: 9,540.0 mm² on 34 dies in 2 packages for ")
    assert "AccelForge, tpu_v4i.yaml" in done.stdout
    assert "warning: a package draws " in done.stdout
    done = CliRunner().invoke(kernbench, ["show", "tiny", "--cost", "--json"])
    found = json.loads(done.stdout)
    assert found["kind"] == "cost"
    assert found["area_mm2"] == sum(one["count"] * one["mm2"] for one in found["dies"])


def test_show_cost_takes_one_machine() -> None:
    done = CliRunner().invoke(kernbench, ["show", "tiny", "hbm", "--cost"])
    assert done.exit_code != 0
    assert "--cost takes one machine; kernbench show --cost MACHINE" in str(done.exception or done.output)
