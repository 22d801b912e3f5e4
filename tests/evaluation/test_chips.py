"""Operations of networks on chips against the times of their kernels."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from kernbench.errors import InputError
from kernbench.evaluation.chips import COLUMNS, evaluate_chips, summarise
from kernbench.evaluation.measured import find_errors
from tests.evaluation.test_chip_operations import GOOD, HEAD

CHIPS = "wormhole_n150,blackhole_p150"


def test_short_operations_are_in_order() -> None:
    found = evaluate_chips(CHIPS, longest_ns=30_000)
    assert found.schema == polars.Schema(COLUMNS)
    assert set(found["operation"]) == {"published", "matmul", "conv", "binary", "unary", "typecast"}
    assert found["measured_ns"].max() == pytest.approx(28_461)
    assert find_errors(found["simulated_ns"].to_list(), found["measured_ns"].to_list()).ordered > 0.85
    assert [line.partition(", ")[0] for line in summarise(found).splitlines()][-2:] == [
        "all products of matrices",
        "all",
    ]


@pytest.mark.slow
def test_operations_are_in_order() -> None:
    found = evaluate_chips(CHIPS, longest_ns=400_000)
    assert find_errors(found["simulated_ns"].to_list(), found["measured_ns"].to_list()).ordered > 0.9
    products = found.filter(found["operation"].is_in(["published", "matmul"]))
    assert find_errors(products["simulated_ns"].to_list(), products["measured_ns"].to_list()).median < 0.25


def test_streams_from_dram_take_as_long_as_measured() -> None:
    """Programs that bring, compute and write a tile at a time on few cores: no queue decides."""
    found = evaluate_chips("blackhole_p150", operations=["unary", "typecast"], longest_ns=200_000)
    streams = found.filter((found["cores"] == 20) & (found["layout"] == "dram"))
    assert len(streams) == 2
    assert streams["error"].abs().max() < 0.06


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(HEAD + GOOD)
    found = evaluate_chips("blackhole_p150", file=str(file), verify=True)
    (row,) = found.to_dicts()
    assert (row["operation"], row["case"], row["measured_ns"], row["verified"]) == (
        "matmul",
        "1x1x640x64 by 1x1x64x32",
        100,
        True,
    )


@pytest.mark.parametrize(
    ("topology", "settings", "told"),
    [
        ("tiny", {}, "topology tiny is no chip with measured operations; give wormhole_n150 or blackhole_p150"),
        (
            "wormhole_n150",
            {"operations": ["matmull"]},
            "there is no measured operation 'matmull'; did you mean 'matmul'? "
            "Known: binary, conv, matmul, published, typecast, unary",
        ),
        (
            "wormhole_n150",
            {"operations": ["typecast"]},
            "there is no measured operation of that kind, time and chip; leave out operations or longest_ns",
        ),
    ],
)
def test_what_was_not_measured(topology: str, settings: dict[str, object], told: str) -> None:
    with pytest.raises(InputError) as raised:
        evaluate_chips(topology, **settings)  # pyright: ignore[reportArgumentType]
    assert str(raised.value) == told
