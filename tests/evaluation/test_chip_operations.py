"""Measured operations of networks: which bench each is, and what is said of files that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.errors import InputError
from kernbench.evaluation.chip_operations import FILE, KINDS, find_depth, find_spread, read_operations

HEAD = (
    "capture,chip,op,cores,in0_shape,in0_dtype,in0_memory,in1_shape,in1_dtype,in1_memory,out_dtype,kernel_ns_median\n"
)
GOOD = (
    "net,blackhole,Matmul,20,1x1x640x64,BFLOAT16,DRAM_INTERLEAVED,1x1x64x32,BFLOAT8_B,DRAM_INTERLEAVED,BFLOAT16,100\n"
)


def write(folder: Path, *rows: str) -> Path:
    file = folder / "mine.csv"
    file.write_text(HEAD + "".join(rows))
    return file


def test_each_measured_operation_has_a_bench_or_a_reason() -> None:
    found = read_operations()
    assert {one.kind for one in found} == set(KINDS)
    assert all(bool(one.bench) != bool(one.reason) for one in found)
    assert sum(1 for one in found if one.kind == "matmul" and one.bench) == 22


def test_a_product_has_the_cores_formats_and_blocks_of_the_measurement(tmp_path: Path) -> None:
    (one,) = read_operations(write(tmp_path, GOOD))
    assert (one.bench, one.topology, one.row["measured_ns"]) == ("tanto-matmul", "blackhole_p150", 100)
    assert one.parameters is not None
    assert (
        one.parameters.items()
        >= {
            "M": 640,
            "K": 64,
            "N": 32,
            "grid_x": 5,
            "grid_y": 4,
            "spread": "rows",
            "block_k": 2,
            "layout": "dram",
            "dtype": "bfloat16",
            "dtype_b": "bfloat8_b",
            "dtype_c": "bfloat16",
        }.items()
    )


@pytest.mark.parametrize(
    ("sides", "grid", "cores", "spread"),
    [
        ((1024, 4, 8), (11, 10), 103, "rows"),  # 10 tiles each
        ((1, 64, 8), (11, 10), 8, "columns"),
        ((64, 32, 64), (11, 10), 110, "grid"),  # 7 x 6 tiles each
        ((64, 64, 16), (11, 10), 64, "rows"),
        ((64, 64, 16), (11, 10), 63, ""),
    ],
)
def test_the_number_of_cores_says_how_a_product_is_spread(
    sides: tuple[int, int, int], grid: tuple[int, int], cores: int, spread: str
) -> None:
    assert find_spread(sides, grid, cores) == spread


@pytest.mark.parametrize(
    ("config", "k", "spread", "depth"),
    [
        ("X(in0_block_w=8;out_subblock_h=1)", 128, "grid", 8),
        ("MinimalMatmulConfig(M_block_size=2;K_block_size=8)", 4, "grid", 4),
        ("", 22, "grid", 2),
        ("", 21, "grid", 1),
        ("", 64, "rows", 2),
        ("", 7, "columns", 1),
    ],
)
def test_the_depth_of_blocks_is_that_of_the_program_or_of_the_library(
    config: str, k: int, spread: str, depth: int
) -> None:
    assert find_depth(config, k, (11, 10), spread) == depth


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (GOOD.replace("1x1x64x32", "1x20x64x32"), "many products in one, of which the library of kernels has none"),
        (GOOD.replace("DRAM", "L1"), "operands interleaved over L1, of which Tanto has none"),
        (GOOD.replace("Matmul,20", "Matmul,19"), "cores that follow from no known way to spread a product"),
        (GOOD.replace("Matmul,20", "Matmul,200"), "more cores than the chip has"),
        (GOOD.replace("BFLOAT8_B", "UINT32"), "format UINT32"),
        (GOOD.replace("Matmul,20", "Unary,7"), "cores that are no whole rows"),
    ],
)
def test_what_is_left_out_says_why(tmp_path: Path, row: str, reason: str) -> None:
    (one,) = read_operations(write(tmp_path, row))
    assert (one.bench, one.reason) == ("", reason)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is no table of operations: empty CSV"),
        (HEAD, "has no rows"),
        (HEAD.replace(",kernel_ns_median", "") + GOOD, "is no table of operations"),
        ((HEAD + GOOD).replace("kernel_ns_median", "ms"), "has no column 'kernel_ns_median'"),
        (HEAD + GOOD + GOOD.replace("Matmul,20", "Matmul,0"), "row 2 has cores '0'; expected 1 or more"),
        (HEAD + GOOD.replace(",100", ",-1"), "row 1 has kernel_ns_median '-1'; expected a time in ns"),
        (
            HEAD + GOOD.replace("blackhole", "grayskull"),
            "row 1 has chip 'grayskull'; known: wormhole_b0, blackhole, not stated",
        ),
        (
            HEAD + GOOD.replace("1x1x64x32", "64x32"),
            "row 1: got the shape '64x32', expected four sizes such as 1x1x32x64",
        ),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(text)
    with pytest.raises(InputError) as raised:
        read_operations(file)
    assert told in str(raised.value)
    assert "mine.csv" in str(raised.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no table of operations: "):
        read_operations(tmp_path / "gone.csv")


def test_the_shipped_file_is_beside_its_module() -> None:
    assert FILE.name == "chip_operations.csv"
