"""Tanto benches of rows of products: softmax, and one head of attention."""

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
)  # fmt: skip
from kernbench.tanto.tiles import SIDE, TILE, matrix_to_tiles


def tiles_of(name: str, size: int, parts: int = 1) -> int:
    """The tiles of a part of a side. Errors: InputError for a side that does not split."""
    if size % (SIDE * parts) or size < SIDE * parts:
        raise InputError(f"{name} is {size}; give a multiple of {SIDE * parts}")
    return size // (SIDE * parts)


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


@bench("tanto-softmax", "Softmax of the rows of a matrix", system="tanto")
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


@bench("tanto-attention", "One head of attention, keys and values kept in each core", system="tanto")
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
