"""Tanto benches of products of matrices: on one core or many, with multicast; softmax and attention."""

import numpy as np

from kernbench.errors import InputError
from kernbench.runs.bench import bench
from kernbench.tanto.api import (
    INPUT,
    INTERMED,
    MATH,
    OUTPUT,
    READER,
    WRITER,
    Global,
    Grid,
    Kernel,
    Pipe,
    Program,
    Semaphore,
)  # fmt: skip
from kernbench.tanto.tiles import SIDE, TILE, matrix_to_tiles


def tiles_of(name: str, size: int, parts: int = 1) -> int:
    """The tiles of a part of a side. Errors: InputError for a side that does not split."""
    if size % (SIDE * parts) or size < SIDE * parts:
        raise InputError(f"{name} is {size}; give a multiple of {SIDE * parts}")
    return size // (SIDE * parts)


def block_of(tiles: int, most: int) -> int:
    """The largest part of a number of tiles that is at most `most`."""
    return next(size for size in range(min(tiles, most), 0, -1) if tiles % size == 0)


@bench("tanto-matmul", "Product of matrices on a grid of cores, which multicast their operands along rows and columns")
def matmul(tanto, M=256, K=256, N=256, grid_x=4, grid_y=4):
    """Rows and columns of C are shared by the grid.

    Parameters:
        M: rows of A and C; tiles of 32 for each row of cores
        K: columns of A, rows of B; a multiple of 32
        N: columns of B and C; tiles of 32 for each column of cores
        grid_x: columns of the grid of cores
        grid_y: rows of the grid of cores
    """
    device, places = tanto.device, tanto.device.places
    if not (0 < grid_x <= places.w and 0 < grid_y <= places.h):
        raise InputError(f"a grid of {grid_x} x {grid_y} cores does not fit on {places.w} x {places.h}")
    m_tiles, k_tiles, n_tiles = tiles_of("M", M, grid_y), tiles_of("K", K), tiles_of("N", N, grid_x)
    block_n = block_of(n_tiles, 4)
    block_m = block_of(m_tiles, 8 // block_n)
    blocks_m, blocks_n = m_tiles // block_m, n_tiles // block_n
    program, grid = Program(device, "matmul"), Grid((0, 0, grid_x - 1, grid_y - 1))
    a, b, c = (Global(device, "bfloat16", size) for size in (M * K, K * N, M * N))
    pa = Pipe(program, grid, INPUT, "bfloat16", 2 * block_m, block_m)
    pb = Pipe(program, grid, INPUT, "bfloat16", 2 * block_n, block_n)
    pc = Pipe(program, grid, OUTPUT, "bfloat16", 2 * block_m * block_n, block_m * block_n)
    ready_a, valid_a, ready_b, valid_b = (Semaphore(program, grid) for _ in range(4))
    reader = Kernel(program, grid, READER, "matmul_a.cpp")
    writer = Kernel(program, grid, WRITER, "matmul_b.cpp")
    kernel = Kernel(program, grid, MATH, "matmul.cpp")
    kernel.set_args(grid, [pa, pb, pc, blocks_m * blocks_n, k_tiles, block_m, block_n])
    all_n = n_tiles * grid_x
    for x, y in grid:
        row = (*places.physical((0, y)), *places.physical((grid_x - 1, y)), grid_x - 1, *places.physical((0, y)))
        column = (*places.physical((x, 0)), *places.physical((x, grid_y - 1)), grid_y - 1, *places.physical((x, 0)))
        start = y * m_tiles * k_tiles
        reader.set_args(
            (x, y), [a, pa, ready_a, valid_a, int(x == 0), start, k_tiles, block_m, blocks_m, blocks_n, *row]
        )
        start_c = y * m_tiles * all_n + x * n_tiles
        sizes = [x * n_tiles, start_c, k_tiles, all_n, block_m, block_n, blocks_m, blocks_n]
        writer.set_args((x, y), [b, c, pb, pc, ready_b, valid_b, int(y == 0), *sizes, *column])
    left, right = (tanto.random.standard_normal(shape).astype(np.float32) for shape in ((M, K), (K, N)))
    tanto.write(a, matrix_to_tiles(left))
    tanto.write(b, matrix_to_tiles(right))
    tanto.launch(program)
    tanto.expect("c", c, lambda: matrix_to_tiles(left @ right))


def softmax_of(scores: np.ndarray) -> np.ndarray:
    """The softmax of each row."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def attention_program(tanto, q, k, v, one, y, cores, rows, head_tiles, key_tiles, only_softmax):
    """The program of softmax or attention, with some rows of query tiles on each core."""
    program, grid = Program(tanto.device, "attention"), Grid((0, 0, cores - 1, 0))
    query_tiles = key_tiles if only_softmax else head_tiles
    kept = 0 if only_softmax else head_tiles * key_tiles
    pq = Pipe(program, grid, INPUT, "bfloat16", 2 * query_tiles, query_tiles)
    pk, pv = (Pipe(program, grid, INPUT, "bfloat16", max(kept, 1), max(kept, 1)) for _ in range(2))
    scale = Pipe(program, grid, INPUT, "bfloat16", 1, 1)
    pscore, pexp, pprob = (Pipe(program, grid, INTERMED, "bfloat16", key_tiles, key_tiles) for _ in range(3))
    pmax, psum = (Pipe(program, grid, INTERMED, "bfloat16", 1, 1) for _ in range(2))
    out_tiles = query_tiles
    py = Pipe(program, grid, OUTPUT, "bfloat16", 2 * out_tiles, out_tiles)
    reader = Kernel(program, grid, READER, "attention_read.cpp")
    writer = Kernel(program, grid, WRITER, "write_frames.cpp")
    kernel = Kernel(program, grid, MATH, "attention.cpp", [int(only_softmax)])
    kernel.set_args(grid, [pq, pk, pv, scale, pscore, pmax, pexp, psum, pprob, py, rows, head_tiles, key_tiles])
    for number, core in enumerate(grid):
        start = number * rows * query_tiles * TILE
        reader.set_args(core, [q, k, v, one, pq, pk, pv, scale, start, rows, query_tiles, kept])
        writer.set_args(core, [y, py, start, rows, out_tiles])
    return program


@bench("tanto-softmax", "Softmax of the rows of a matrix")
def softmax(tanto, M=128, N=256, cores=2):
    """Rows are shared by the cores.

    Parameters:
        M: rows; tiles of 32 for each core
        N: columns; a multiple of 32
        cores: cores
    """
    rows, key_tiles = tiles_of("M", M, cores), tiles_of("N", N)
    x, y = (Global(tanto.device, "bfloat16", M * N) for _ in range(2))
    one = Global(tanto.device, "bfloat16", TILE)
    values = tanto.random.standard_normal((M, N)).astype(np.float32)
    tanto.write(x, matrix_to_tiles(values))
    tanto.write(one, np.ones(TILE))
    tanto.launch(attention_program(tanto, x, x, x, one, y, cores, rows, 1, key_tiles, True))
    tanto.expect("y", y, lambda: matrix_to_tiles(softmax_of(values)))


@bench("tanto-attention", "One head of attention, keys and values kept in each core")
def attention(tanto, queries=128, keys=256, head=64, cores=2):
    """Queries are shared by the cores.

    Parameters:
        queries: queries; tiles of 32 for each core
        keys: keys and values; a multiple of 32
        head: elements of a head; a multiple of 32
        cores: cores
    """
    rows, key_tiles, head_tiles = tiles_of("queries", queries, cores), tiles_of("keys", keys), tiles_of("head", head)
    q, y = (Global(tanto.device, "bfloat16", queries * head) for _ in range(2))
    k, v = (Global(tanto.device, "bfloat16", keys * head) for _ in range(2))
    one = Global(tanto.device, "bfloat16", TILE)
    scaled = (tanto.random.standard_normal((queries, head)) / np.sqrt(head)).astype(np.float32)
    key, value = (tanto.random.standard_normal((keys, head)).astype(np.float32) for _ in range(2))
    for buffer, matrix in ((q, scaled), (k, key), (v, value)):
        tanto.write(buffer, matrix_to_tiles(matrix))
    tanto.write(one, np.ones(TILE))
    tanto.launch(attention_program(tanto, q, k, v, one, y, cores, rows, head_tiles, key_tiles, False))
    tanto.expect("y", y, lambda: matrix_to_tiles(softmax_of(scaled @ key.T) @ value))
