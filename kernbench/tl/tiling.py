"""How a matrix product is cut into tiles, and in which order they go through the pipeline.

One token a tile of products, in order m, n, k with k innermost, so that an output tile's sum stays where it is until its
last k tile. Tiles at the edges have their true, smaller sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class GemmTiles(NamedTuple):
    """A tiling: which tile of each dimension each token takes, and how large the tiles are."""

    m: np.ndarray  # int64[token] tile index along m
    n: np.ndarray
    k: np.ndarray
    last: np.ndarray  # bool[token] the last of its output tile
    m_size: np.ndarray  # int64[tile along m] elements
    n_size: np.ndarray
    k_size: np.ndarray


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
    sizes = tile_sizes(m, tile_m), tile_sizes(n, tile_n), tile_sizes(k, tile_k)
    along_m, along_n, along_k = (np.ravel(index) for index in np.indices([len(size) for size in sizes], np.int64))
    return GemmTiles(along_m, along_n, along_k, along_k == len(sizes[2]) - 1, *sizes)


def tile_starts(rows: int, row_tile: int, columns: int, column_tile: int, transposed: bool) -> np.ndarray:
    """int64[row tile, column tile] element offset of each tile's first element in a row-major matrix.

    With `transposed`, the memory holds the rows of the (columns, rows) matrix.
    """
    row_stride, column_stride = (1, rows) if transposed else (columns, 1)
    row_start = np.arange(tile_count(rows, row_tile), dtype=np.int64) * row_tile
    column_start = np.arange(tile_count(columns, column_tile), dtype=np.int64) * column_tile
    return row_start[:, None] * row_stride + column_start * column_stride
