"""Every Tanto bench has the numbers of numpy, and the same times with and without numbers, in both modes."""

from __future__ import annotations

from typing import Any

import polars
import pytest

from kernbench.errors import InputError
from kernbench.frontends.run import run_bench
from kernbench.tanto.language.methods import SCALED, UNARIES

BENCHES: list[tuple[str, dict[str, Any]]] = [
    *(
        ("tanto-binary", {"operation": operation, "broadcast": broadcast, "tiles": 4, "frame": 2, "cores": 1})
        for operation in ("add", "sub", "mul")
        for broadcast in ("none", "rows", "cols", "scalar")
    ),
    *(
        (name, {"cores": 4, "grid_x": 2, "tiles": 4, "frame": 2, **more})
        for name in ("tanto-binary", "tanto-unary")
        for more in ({"layout": "sharded"}, {"dtype": "bfloat8_b"}, {"dtype": "bfloat8_b", "layout": "sharded"})
    ),
    ("tanto-unary", {"function": "copy", "dtype_y": "bfloat8_b", "cores": 1, "tiles": 2, "frame": 1}),
    *(
        ("tanto-reduce", {"operation": operation, "way": way, "cores": 2, "count": 2, "length": 3})
        for operation in ("sum", "max")
        for way in ("rows", "cols", "scalar")
    ),
    ("tanto-transpose", {"cores": 2, "tiles": 2}),
    ("tanto-tilize", {"cores": 2, "blocks": 2, "block": 3}),
    ("tanto-tilize", {"cores": 2, "blocks": 2, "block": 3, "untilizes": True}),
    ("tanto-matmul", {"M": 64, "K": 96, "N": 64, "grid_x": 1, "grid_y": 1}),
    ("tanto-matmul", {"M": 128, "K": 96, "N": 128, "grid_x": 2, "grid_y": 2}),
    ("tanto-matmul", {"M": 100, "K": 200, "N": 300}),  # sides are filled up
    *(
        ("tanto-matmul", {"M": 320, "K": 96, "N": 352, "grid_x": 2, "grid_y": 2, "block_m": 3, "block_n": 5, **more})
        for more in ({"block_k": 2}, {"block_k": 1, "layout": "l1"})  # the last blocks are smaller
    ),
    ("tanto-matmul", {"M": 64, "K": 224, "N": 96, "layout": "l1", "grid_y": 1}),
    ("tanto-matmul", {"M": 192, "K": 160, "N": 256, "dtype": "float32", "block_k": 2}),  # four slots
    ("tanto-matmul", {"M": 192, "K": 160, "N": 256, "dtype": "bfloat8_b", "layout": "l1"}),
    ("tanto-matmul", {"M": 192, "K": 160, "N": 256, "dtype": "bfloat4_b", "math_fidelity": "lofi"}),
    *(
        ("tanto-matmul", {"M": 96, "K": 96, "N": 96, "grid_x": 2, "grid_y": 2, **more})  # three cores of four
        for more in (
            {"spread": "rows"},
            {"spread": "rows", "layout": "l1"},
            {"spread": "columns", "block_k": 1},
            {"spread": "rows", "dtype_b": "bfloat8_b"},
            {"dtype": "bfloat8_b", "dtype_c": "bfloat16"},
            {"spread": "rows", "sums": "float32", "block_k": 1},
        )
    ),
    ("tanto-softmax", {"M": 64, "N": 96}),
    ("tanto-attention", {"queries": 64, "keys": 64, "head": 32}),
    ("tanto-conv", {"height": 8, "width": 16}),
    ("tanto-conv", {"height": 8, "width": 16, "channels": 64, "filters": 64, "band": True, "relu": False}),
    ("tanto-conv-blocks", {"height": 8, "width": 16}),
    ("tanto-conv-blocks", {"height": 8, "width": 16, "filters": 192, "sums": "float32"}),
    ("tanto-conv-blocks", {"height": 8, "width": 16, "channels": 1024, "filters": 224}),  # several blocks side by side
    ("tanto-conv-blocks", {"height": 20, "width": 16, "channels": 8, "window": 7, "dtype_w": "bfloat8_b"}),
    ("tanto-conv-blocks", {"height": 30, "width": 7, "filters": 320, "window": 1, "dtype_y": "bfloat8_b"}),
    ("tanto-depthwise", {"height": 8, "width": 16}),
    ("tanto-pool", {"height": 16, "width": 16}),
]


@pytest.mark.parametrize(("name", "parameters"), BENCHES)
def test_numbers_and_times(name: str, parameters: dict[str, Any]) -> None:
    found = run_bench(name, "tensix_tiny", parameters=parameters, verify=True)
    assert found.mismatches == ()
    assert found.verified
    for mode in ("hybrid", "flit"):
        assert run_bench(name, "tensix_tiny", parameters=parameters, mode=mode).latency_ns == found.latency_ns


@pytest.mark.parametrize("function", sorted({*UNARIES, *SCALED} - {"max"}))
def test_functions_of_the_vector_unit(function: str) -> None:
    operand = 3 if function == "power" else 0x3F000000
    parameters = {"function": function, "operand": operand, "cores": 1, "tiles": 1, "frame": 1}
    found = run_bench("tanto-unary", "tensix_tiny", parameters=parameters, verify=True)
    assert found.mismatches == ()


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("tanto-matmul", {"M": 0}, "M is 0; give 1 or more"),
        ("tanto-matmul", {"block_n": 9}, "block_n is 9; a core has 8 tiles there, so give 1 to 8, or 0 for the best"),
        (
            "tanto-matmul",
            {"layout": "l1", "block_k": 3},
            "block_k is 3; a shard of A has 8 columns of tiles, so give a part of that",
        ),
        (
            "tanto-matmul",
            {"layout": "l1", "M": 4096, "K": 4096},
            "bytes of L1, a core has 1,499,136; give smaller blocks, more cores or layout dram",
        ),
        ("tanto-matmul", {"grid_x": 3}, "a grid of 3 x 2 cores does not fit on 2 x 2"),
        (
            "tanto-matmul",
            {"spread": "columns", "layout": "l1"},
            "with spread columns each core needs all of A, which layout l1 has in parts; give layout dram",
        ),
        (
            "tanto-unary",
            {"function": "gel"},
            "parameter 'function' of bench 'tanto-unary' cannot be 'gel'; did you mean 'gelu'",
        ),
        (
            "tanto-binary",
            {"layout": "sharded", "broadcast": "rows"},
            "with layout sharded nothing is broadcast; give broadcast none, or layout dram",
        ),
        ("tanto-unary", {"cores": 3, "grid_x": 2}, "cores is 3; give at most 2, or a multiple of it up to 4"),
        ("tanto-unary", {"grid_x": 3}, "grid_x is 3; give 1 to 2, or 0 for all columns"),
        ("tanto-unary", {"frame": 9}, "frame is 9 and tiles 16; frames have 1 to 8 tiles"),
        ("tanto-conv-blocks", {"window": 2}, "window is 2; give an odd number such as 1 or 3"),
        ("tanto-conv-blocks", {"channels": 0}, "channels is 0; give 1 or more"),
        (
            "tanto-conv-blocks",
            {"channels": 4096, "filters": 512},
            "bytes of L1, a core has 1,499,136; give more cores, fewer channels or fewer filters",
        ),
        ("tanto-conv-blocks", {"grid_x": 3}, "a grid of 3 x 2 cores does not fit on 2 x 2"),
        ("tanto-conv", {"filters": 300}, "filters is 300; give a multiple of 32 up to 256"),
    ],
)
def test_wrong_parameters(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        run_bench(
            name, "tensix_tiny", parameters={"grid_x": 2, "grid_y": 2, **parameters} if "matmul" in name else parameters
        )
    assert message in str(raised.value)


def test_a_bench_of_tanto_needs_a_chip_and_events() -> None:
    with pytest.raises(InputError, match="which have no analytic mode"):
        run_bench("tanto-transpose", "tensix_tiny", mode="analytic")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("tanto-matmul", {"M": 128, "K": 96, "N": 128, "grid_x": 2, "grid_y": 2}),
        ("tanto-conv", {"height": 8, "width": 16}),
    ],
)
def test_finite_buffers_change_times_alone(name: str, parameters: dict[str, Any]) -> None:
    """Multicasts go over them, too."""
    credit = {"flow_control": "credit"}
    found = run_bench(name, "tensix_tiny", parameters=parameters, overrides=credit, verify=True)
    assert found.verified
    assert found.latency_ns != run_bench(name, "tensix_tiny", parameters=parameters).latency_ns


@pytest.mark.parametrize("layout", ["dram", "l1"])
@pytest.mark.parametrize("chip", ["wormhole_n150", "blackhole_p150"])
@pytest.mark.parametrize("blocks", [(4, 4, 0), (2, 4, 1), (3, 2, 0)])
def test_a_product_reads_its_operands_once_for_each_block(blocks: tuple[int, int, int], chip: str, layout: str) -> None:
    """A for each block side by side, B for each one above the other: once, if a core has one block."""
    block_m, block_n, block_k = blocks
    parameters = {"M": 256, "K": 128, "N": 384, "grid_x": 3, "grid_y": 2, "layout": layout}
    given = {"block_m": block_m, "block_n": block_n, "block_k": block_k}
    log = run_bench("tanto-matmul", chip, parameters={**parameters, **given}).op_log()
    moved = dict(log.group_by("op_name").agg(polars.col("bytes").sum()).iter_rows())
    a, b, c = (2 * size for size in (256 * 128, 128 * 384, 256 * 384))
    across, down = -(-4 // block_n), -(-4 // block_m)
    assert moved["read"] == b * down + (a * across if layout == "dram" else 0)
    assert moved.get("write", 0) == (c if layout == "dram" else 0)


def test_blocks_are_chosen_by_an_estimate_and_fit() -> None:
    """The sizes that are left out, beside those that are given."""
    free = run_bench("tanto-matmul", "wormhole_n150", parameters={"M": 1024, "K": 2048, "N": 1024})
    shallow = run_bench("tanto-matmul", "wormhole_n150", parameters={"M": 1024, "K": 2048, "N": 1024, "block_k": 1})
    assert free.latency_ns < shallow.latency_ns


@pytest.mark.parametrize(("dtype", "fidelity"), [("bfloat16", "hifi4"), ("bfloat8_b", "hifi2"), ("bfloat4_b", "lofi")])
def test_a_large_product_is_bound_by_the_matrix_unit(dtype: str, fidelity: str) -> None:
    """Operands come while products are made, and of two operands one stays in its register."""
    parameters = {
        "M": 256,
        "K": 4096,
        "N": 256,
        "grid_x": 2,
        "grid_y": 2,
        "dtype": dtype,
        "math_fidelity": fidelity,
        "layout": "l1",
    }
    found = run_bench("tanto-matmul", "wormhole_n150", parameters=parameters)
    ideal = {"hifi4": 64, "hifi2": 32, "lofi": 16}[fidelity] * 4 * 128 * 4
    assert ideal < found.latency_ns < 1.4 * ideal
