"""How a matrix product is cut into tiles, and in which order they go through the pipeline.

One token a tile of products, in order m, n, k with k innermost, so that an output tile's sum stays where it is until its
last k tile. Tiles at the edges have their true, smaller sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Axis(NamedTuple):
    """One dimension cut into tiles, and which of them each token takes."""

    dim: int
    tile: int
    size: np.ndarray  # int64[tile] elements of each tile
    index: np.ndarray  # int64[token]


class GemmTiles(NamedTuple):
    """The tokens of a product of (m, k) and (k, n)."""

    m: Axis
    n: Axis
    k: Axis
    last: np.ndarray  # bool[token] the last of its output tile


def tile_count(dim: int, tile: int) -> int:
    """How many tiles a dimension takes, at least 1."""
    return max(1, -(-dim // tile))


def tile_sizes(dim: int, tile: int) -> np.ndarray:
    """int64[tile] elements of each tile; all but the last are full."""
    sizes = np.full(tile_count(dim, tile), tile, np.int64)
    sizes[-1] = dim - tile * (len(sizes) - 1)
    return sizes


def plan_gemm(m: int, k: int, n: int, tile_m: int, tile_k: int, tile_n: int) -> GemmTiles:
    """The tokens of an (m, k) times (k, n) product."""
    cuts = ((m, tile_m), (n, tile_n), (k, tile_k))
    sizes = [tile_sizes(*cut) for cut in cuts]
    indices = np.indices([len(size) for size in sizes], np.int64).reshape(3, -1)
    axes = [Axis(*cut, size, index) for cut, size, index in zip(cuts, sizes, indices, strict=True)]
    return GemmTiles(*axes, last=indices[2] == len(sizes[2]) - 1)


def grid_index(rows: Axis, columns: Axis) -> np.ndarray:
    """int64[token] the tile of a matrix that each token takes, counting tiles row by row."""
    return rows.index * len(columns.size) + columns.index


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
