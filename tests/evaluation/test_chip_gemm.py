"""Published matrix products of chips against simulated ones."""

from __future__ import annotations

import polars
import pytest

from kernbench.errors import InputError
from kernbench.evaluation.chip_gemm import CHIPS, COLUMNS, evaluate_chip_gemm, read_published, summarise
from kernbench.machine import load_machine

PASSES = {"lofi": 1, "hifi2": 2, "hifi3": 3, "hifi4": 4}


def test_published_cycles_follow_from_the_utilisation_of_the_matrix_units() -> None:
    """16 cycles a tile at LoFi, by the definition of the source; printed utilisations have two digits."""
    rows = read_published()
    assert {row["chip"] for row in rows} == set(CHIPS.values())
    for row in rows:
        tiles = row["M"] * row["K"] * row["N"] // 32**3
        ideal = 16 * PASSES[row["fidelity"]] * tiles / (row["grid_x"] * row["grid_y"])
        assert 100 * ideal / row["device_cycles"] == pytest.approx(row["utilisation_percent"], abs=0.01)


@pytest.fixture(scope="module")
def small() -> polars.DataFrame:
    return evaluate_chip_gemm("wormhole_n150", largest=1024)


def test_small_products_take_as_long_as_published(small: polars.DataFrame) -> None:
    assert small.schema == polars.Schema(COLUMNS)
    assert len(small) == 5
    assert small["error"].abs().median() < 0.15
    assert small["error"].abs().max() < 0.25
    assert summarise(small).startswith("median error ")


@pytest.mark.slow
def test_products_take_as_long_as_published() -> None:
    """Those of medium size, on both chips."""
    found = evaluate_chip_gemm(",".join(CHIPS), largest=2816)
    assert set(found["chip"]) == set(CHIPS.values())
    assert found["error"].abs().median() < 0.15
    assert found["error"].abs().max() < 0.30


def test_cycles_are_those_of_the_clock(small: polars.DataFrame) -> None:
    figures = load_machine("wormhole_n150").figures
    assert figures["tensix_core.clock_ghz"] == 1
    for row in small.to_dicts():
        tiles = row["M"] * row["K"] * row["N"] // 32**3
        busy = figures["tensix_core.matmul_cycles"] * PASSES[row["fidelity"]] * tiles / 64
        assert row["utilisation"] == pytest.approx(busy / row["cycles"], rel=1e-3)


@pytest.mark.parametrize(
    ("topology", "settings", "told"),
    [
        (
            "tensix_tiny",
            {},
            "topology tensix_tiny is no chip with published products; give --topology wormhole_n150 or blackhole_p150, or "
            "--set chip=n150 or p150 to compare another topology with it",
        ),
        (
            "wormhole_n150",
            {"chip": "n300"},
            "there is no chip 'n300'; give --topology wormhole_n150 or blackhole_p150, or "
            "--set chip=n150 or p150 to compare another topology with it",
        ),
        (
            "wormhole_n150",
            {"largest": 100},
            "there is no published product of that chip, size and format; leave out largest, dtypes or chip",
        ),
    ],
)
def test_what_no_product_is_published_of(topology: str, settings: dict[str, object], told: str) -> None:
    with pytest.raises(InputError) as raised:
        evaluate_chip_gemm(topology, **settings)  # pyright: ignore[reportArgumentType]
    assert str(raised.value) == told
