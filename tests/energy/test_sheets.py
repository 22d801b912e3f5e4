"""Prices in sheets and topologies: their units, their nodes, and a sentence for each that cannot be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kernbench
from kernbench import library
from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.price_list import PriceList

SHEET = library.shipped() / "models"


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (
            {"hbm.energy.read_byte_pj": -1},
            "override hbm.energy.read_byte_pj: got -1, expected greater than or equal to 0",
        ),
        (
            {"hbm.energy.read_byte_pj": "3 pJ"},
            "got '3 pJ' with the unknown unit 'pJ', expected a number, alone or in one of: ",
        ),
        (
            {"technology.node_nm": 8},
            "override technology.node_nm: got 8 nm, an unknown node; known: 3, 4, 5, 6, 7, 10, ",
        ),
        ({"technology.node_nm": 16}, "noc.silicon.node_nm: figures of 7 nm have no rule to a die of 16 nm: "),
        ({"limits.package_w": 700}, "override limits.package_w: got 700 without a unit; give one, as in '700 W'"),
        ({"limits.reticle_mm2": "0 mm2"}, "override limits.reticle_mm2: got '0 mm2', expected greater than 0"),
        ({"pe_gemm.energy.flop_64_pj": 1}, "unknown topology field 'pe_gemm.energy.flop_64_pj'; did you mean "),
    ],
)
def test_what_cannot_be_is_said(overrides: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        load_machine("tiny", overrides)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            "    unit: pJ/B\n",
            "",
            r"sheet.yaml:\d+:\d+: energy.read_byte_pj: got 32.4 without a unit; give one, as in `unit: pJ`",
        ),
        (
            "value: 32.4",
            "value: -32.4",
            r"hbm.energy.read_byte_pj: got '-32.4 pJ/B', expected greater than or equal to 0",
        ),
        ("unit: pJ/B", "unit: GB/s", r"got '32.4 GB/s' with the unknown unit 'GB/s', expected a number"),
        ("range: [28.7, 56.2]", "range: [40, 56.2]", r"got the range 40 to 56.2, and the value is 32.4"),
        (
            "energy:\n  read_byte_pj:",
            "energy:\n  read_bite_pj:",
            r"hbm.energy.read_bite_pj: unknown field; did you mean",
        ),
    ],
)
def test_a_sheet_that_cannot_be_is_said(before: str, after: str, sentence: str, tmp_path: Path) -> None:
    text = (SHEET / "hbm.yaml").read_text()
    assert before in text
    (tmp_path / "sheet.yaml").write_text(text.replace(before, after, 1))
    with pytest.raises(InputError, match=sentence):
        load_machine("tiny", {"parts.hbm": str(tmp_path / "sheet.yaml")})


def test_a_figure_that_is_missing_is_named_and_never_0(tmp_path: Path) -> None:
    text = (SHEET / "noc.yaml").read_text()
    (tmp_path / "bare.yaml").write_text(text[: text.index("energy:")])
    result = kernbench.run("matmul-composite", topology="tiny", overrides={"parts.noc": str(tmp_path / "bare.yaml")})
    assert result.no_figures == "noc.energy.byte_pj"
    assert (result.energy_j, result.power_w) == (None, None)
    assert result.energy().missing == ["noc.energy.byte_pj"]
    routers = next(one for one in result.energy().by_action() if one.part == "noc")
    assert routers.energy_aj is None
    assert routers.amount > 0


def test_a_machine_without_prices_has_no_energy(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine("tiny")
    monkeypatch.setattr(machine, "prices", PriceList())
    monkeypatch.setattr(machine, "memo", {})
    result = kernbench.run("matmul-composite", topology="tiny")
    assert (result.dynamic_aj, result.energy_j, result.area_mm2, result.no_figures) == (None, None, None, None)
    with pytest.raises(InputError, match="machine tiny has no prices; give its sheets an energy block"):
        result.energy()


def test_prices_in_any_unit_are_one_price() -> None:
    by_bit, by_byte = (load_machine("tiny", {"hbm.energy.read_byte_pj": text}) for text in ("3.5 pJ/bit", "28 pJ/B"))
    assert by_bit.prices.find("hbm", "read_byte") == by_byte.prices.find("hbm", "read_byte") == 28 * 10**6


def test_energies_go_with_the_root_of_the_node_and_areas_with_it() -> None:
    at_5, at_7 = (
        load_machine("tiny", {"parts.technology": sheet}).prices for sheet in ("technology", "technology_7nm")
    )
    small, large = (prices.find("pe_gemm", "flop_16") or 0 for prices in (at_5, at_7))
    assert (large, small) == (160_000, round(160_000 * (5 / 7) ** 0.5))
    assert at_5.parts["noc"].area_um2 == round(600 * 256 * 5 / 7)
    assert at_5.parts["hbm"] == at_7.parts["hbm"]


def test_prices_of_a_scratchpad_go_with_the_root_of_its_size() -> None:
    """1.75 pJ/B of 1 MiB are 7 of 16 MiB, and 9.9 of the 32 MiB of a cube's SRAM."""
    prices = load_machine("sip_2x4x4", {"parts.technology": "technology_7nm"}).prices
    assert prices.find("pe_tcm", "read_byte") == 7_000_000
    assert prices.find("sram", "read_byte") == round(1_750_000 * 32**0.5)
    small = load_machine("sip_2x4x4", {"parts.technology": "technology_7nm", "pe_tcm.bytes": "4 MiB"}).prices
    assert small.find("pe_tcm", "write_byte") == 3_500_000


def test_an_area_goes_with_the_rate_and_the_size_of_a_part() -> None:
    base = load_machine("tiny").prices.parts
    twice = load_machine("tiny", {"pe_tcm.bytes": "32 MiB", "pe_gemm.tflops_f16": 16}).prices.parts
    for part in ("pe_tcm", "pe_gemm"):
        assert twice[part].area_um2 == pytest.approx(2 * (base[part].area_um2 or 0), abs=1)


ENGINE = """
from typing import ClassVar
from kernbench.parts.part import Part, fs_per_unit
from kernbench.schema.fields import Ghz

class Engine(Part):
    '''An engine of one cycle a product.'''
    kind: ClassVar[str] = "pe_gemm"
    clock_ghz: Ghz

    def figures(self):
        return {**super().figures(), "cycle": fs_per_unit(self.clock_ghz)}

    def product(self, m, k, n, bits):
        return {"cycle": 1}
"""
PRICED = """    energy: GemmPrices = GemmPrices()
    silicon: Silicon = Silicon()
    clock_ghz"""
SHEET_OF_ENGINE = """kind: pe_gemm
description: an engine of our own
parameters:
  clock_ghz: {value: 1, unit: GHz, source: "chosen: round"}
"""


@pytest.mark.parametrize("priced", [False, True])
def test_an_engine_that_is_dropped_in_has_its_prices_or_is_named(priced: bool, tmp_path: Path) -> None:
    text, sheet = ENGINE, SHEET_OF_ENGINE
    if priced:
        text = "from kernbench.parts.prices import GemmPrices, Silicon\n" + text.replace("    clock_ghz", PRICED, 1)
        sheet += 'energy:\n  flop_pj: {value: 0.5, unit: pJ, source: "chosen: round"}\n'
    (tmp_path / "engine.py").write_text(text)
    (tmp_path / "engine.yaml").write_text(sheet)
    size = dict.fromkeys("MNK", 32)
    overrides = {"parts.pe_gemm": str(tmp_path / "engine.yaml"), "technology.node_nm": 7}
    result = kernbench.run("matmul-composite", topology="tiny", parameters=size, overrides=overrides)
    assert result.no_figures == (None if priced else "pe_gemm.energy.flop_pj")
    flop = next(one for one in result.energy().by_action() if one.part == "pe_gemm")
    assert (flop.action, flop.amount) == ("flop", 2 * 32**3)
    assert flop.energy_aj == (32**3 * 10**6 if priced else None)
