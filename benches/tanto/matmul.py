"""Product of matrices on a grid of cores: `kernbench.workloads.tensix.products`."""

from functools import cache

import numpy as np

from kernbench.errors import InputError
from kernbench.runs.bench import bench
from kernbench.tanto.context import LEAST_CORRELATION
from kernbench.tanto.formats import Format, find_format
from kernbench.tanto.tiles import SIDE, matrix_to_tiles
from kernbench.workloads.tensix.blocks import Formats, Shares, choose_blocks
from kernbench.workloads.tensix.chip import parts_of
from kernbench.workloads.tensix.products import Product

DTYPES = ("bfloat16", "float16", "float32", "bfloat8_b", "bfloat4_b")
FIDELITIES = ("chip", "lofi", "hifi2", "hifi3", "hifi4")
LAYOUTS = ("dram", "l1")
SPREADS = ("grid", "rows", "columns")
SUMS = ("format", "float32")
LEAST_OF_FOUR_BITS = 0.99  # correlation: the last of the 3 bits of a result depends on the order of sums


def find_fields(math_fidelity: str, **_) -> dict[str, object]:
    """The field of the topology that the fidelity sets."""
    return {} if math_fidelity == "chip" else {"tensix_core.fidelity": math_fidelity}


def check_sizes(places, M: int, K: int, N: int, grid: tuple[int, int]) -> tuple[int, int]:
    """The grid, as large as the chip where it is 0. Errors: InputError for sides below 1 or a grid that does not fit."""
    for name, size in (("M", M), ("K", K), ("N", N)):
        if size < 1:
            raise InputError(f"{name} is {size}; give 1 or more")
    columns, rows = grid[0] or places.w, grid[1] or places.h
    if not (0 < columns <= places.w and 0 < rows <= places.h):
        raise InputError(f"a grid of {columns} x {rows} cores does not fit on {places.w} x {places.h}")
    return columns, rows


@bench(
    "tanto-matmul",
    "Product of matrices on a grid of cores, which multicast blocks along rows and columns",
    fields=find_fields,
    choices={
        "dtype": DTYPES,
        "dtype_b": ("", *DTYPES),
        "dtype_c": ("", *DTYPES),
        "math_fidelity": FIDELITIES,
        "layout": LAYOUTS,
        "spread": SPREADS,
        "sums": SUMS,
    },
    system="tanto",
)
def matmul(
    tanto,
    M=512,
    K=512,
    N=512,
    grid_x=0,
    grid_y=0,
    block_m=0,
    block_n=0,
    block_k=0,
    dtype="bfloat16",
    dtype_b="",
    dtype_c="",
    math_fidelity="chip",  # noqa: ARG001  # of `find_fields`
    layout="dram",
    spread="grid",
    sums="format",
):
    """Rows and columns of C are shared by the grid.

    Parameters:
        M: rows of A and C
        K: columns of A, rows of B
        N: columns of B and C
        grid_x: columns of the grid of cores; 0: all of the chip
        grid_y: rows of the grid of cores; 0: all of the chip
        block_m: rows of a block of C, in tiles; 0: the size that is estimated to be fastest
        block_n: columns of a block of C, in tiles; 0: as block_m
        block_k: depth of the blocks of A and B, in tiles; 0: as block_m; with layout l1 a part of the columns that a core has
        dtype: format of A, and of B and C unless they have another
        dtype_b: format of B
        dtype_c: format of C
        math_fidelity: phases of a product; chip: those of the topology
        layout: where A and C are: dram, or l1 with a part of them in each core; B is in DRAM
        spread: what the cores share: grid, the rows and the columns of C; rows or columns, those alone
        sums: float32 keeps sums in 32 bits, of which half as many fit into the slots; format: that of A, B and C
    """
    device = tanto.device
    formats = Formats(*(find_format(one or dtype) for one in (dtype, dtype_b, dtype_c)), sums == "float32")
    grid = check_sizes(device.places, M, K, N, (grid_x, grid_y))
    if spread == "columns" and layout == "l1":
        raise InputError("with spread columns each core needs all of A, which layout l1 has in parts; give layout dram")
    shares = Shares.of((parts_of(M, SIDE), parts_of(K, SIDE), parts_of(N, SIDE)), grid, spread)
    blocks = choose_blocks(device, shares, (block_m, block_n, block_k), formats, layout)
    made = Product(device, shares, blocks, formats, layout)

    def held(values: np.ndarray, fmt: Format) -> np.ndarray:
        return fmt.to_float(fmt.from_float(values))

    @cache
    def operands() -> tuple[np.ndarray, np.ndarray]:
        left = np.zeros((made.m * SIDE, shares.k * SIDE), np.float32)
        right = np.zeros((shares.k * SIDE, made.n * SIDE), np.float32)
        left[:M, :K], right[:K, :N] = (tanto.random.standard_normal(shape) for shape in ((M, K), (K, N)))
        return held(left, formats.a), held(right, formats.b)

    def fill() -> None:
        tanto.write(made.a, made.shard(operands()[0]))
        tanto.write(made.b, matrix_to_tiles(operands()[1]))

    tanto.prepare(fill)
    tanto.launch(made.program)
    least = LEAST_OF_FOUR_BITS if formats.c.name == "bfloat4_b" else LEAST_CORRELATION
    tanto.expect("c", made.c, lambda: made.result(held(np.matmul(*operands()), formats.c)), least=least)
