"""Tiling of a matrix product, and the order of its tiles in the pipeline.

There is one token for each tile of products, in the order of the machine's `tiling`: by default m, n, k with k innermost, so
that an output tile's sum stays where it is until its last k tile. Tiles at the edges have their true, smaller sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernbench.machine.costs import Plan, plan_tiles


class Axis(NamedTuple):
    """One dimension cut into tiles, and the tile of each token."""

    dim: int
    tile: int
    size: np.ndarray  # int64[tile] elements of each tile
    of: np.ndarray  # int64[token]


class GemmTiles(NamedTuple):
    """The tokens of a product of (m, k) and (k, n)."""

    m: Axis
    n: Axis
    k: Axis
    last: np.ndarray  # bool[token] whether it is the last of its output tile
    reads: np.ndarray  # bool[token, 2] whether it reads its tile of the first and the second operand


def tile_count(dim: int, tile: int) -> int:
    """The number of tiles of a dimension, at least 1."""
    return max(1, -(-dim // tile))


def tile_sizes(dim: int, tile: int) -> np.ndarray:
    """int64[tile] elements of each tile; all but the last are full."""
    sizes = np.full(tile_count(dim, tile), tile, np.int64)
    sizes[-1] = dim - tile * (len(sizes) - 1)
    return sizes


def plan_gemm(m: int, k: int, n: int, tile_m: int, tile_k: int, tile_n: int, plan: Plan = plan_tiles) -> GemmTiles:
    """The tokens of an (m, k) times (k, n) product; `plan` orders their tiles."""
    cuts = ((m, tile_m), (k, tile_k), (n, tile_n))
    sizes = [tile_sizes(*cut) for cut in cuts]
    order, reads = plan(*(len(size) for size in sizes))
    along_m, along_k, along_n = (Axis(*cut, size, index) for cut, size, index in zip(cuts, sizes, order.T, strict=True))
    output = grid_index(along_m, along_n)
    _, from_end = np.unique(output[::-1], return_index=True)
    last = np.zeros(len(order), np.bool_)
    last[len(order) - 1 - from_end] = True
    return GemmTiles(along_m, along_n, along_k, last, reads)


def grid_index(rows: Axis, columns: Axis) -> np.ndarray:
    """int64[token] the tile of a matrix that each token uses; tiles count row by row."""
    return rows.of * len(columns.size) + columns.of


def grid_elements(rows: Axis, columns: Axis) -> np.ndarray:
    """int64[tile] elements of each tile of a matrix."""
    return np.outer(rows.size, columns.size).ravel()


def grid_starts(rows: Axis, columns: Axis, transposed: bool = False) -> np.ndarray:
    """int64[tile] element offset of each tile's first element in a row-major matrix.

    With `transposed`, memory holds the rows of the matrix of (columns, rows).
    """
    row_stride, column_stride = (1, rows.dim) if transposed else (columns.dim, 1)
    row_start = np.arange(len(rows.size)) * (rows.tile * row_stride)
    column_start = np.arange(len(columns.size)) * (columns.tile * column_stride)
    return np.add.outer(row_start, column_start).ravel()
