"""Tiles: 32 x 32 elements, in memory four faces of 16 x 16 one after the other, each row by row."""

from __future__ import annotations

import numpy as np

SIDE, FACE, TILE = 32, 16, 1024


def to_matrices(stored: np.ndarray) -> np.ndarray:
    """[tile, 32, 32] of tiles in memory order, [tile, 1024]."""
    faces = stored.reshape(-1, 2, 2, FACE, FACE)
    return faces.transpose(0, 1, 3, 2, 4).reshape(-1, SIDE, SIDE)


def from_matrices(matrices: np.ndarray) -> np.ndarray:
    """[tile, 1024] in memory order, of [tile, 32, 32]."""
    blocks = matrices.reshape(-1, 2, FACE, 2, FACE)
    return blocks.transpose(0, 1, 3, 2, 4).reshape(-1, TILE)


def tilize(rows: np.ndarray, block: int) -> np.ndarray:
    """[block, 1024] tiles in memory order of 32 rows of 32 x block elements, row by row."""
    return from_matrices(rows.reshape(SIDE, block, SIDE).transpose(1, 0, 2))


def untilize(tiles: np.ndarray, block: int) -> np.ndarray:
    """The 32 x 32 x block elements, row by row, of [block, 1024] tiles in memory order."""
    return to_matrices(tiles).reshape(block, SIDE, SIDE).transpose(1, 0, 2).reshape(-1)


def matrix_to_tiles(matrix: np.ndarray) -> np.ndarray:
    """The elements of a matrix of 32m x 32n as tiles in memory order, tile row by tile row, flat."""
    rows, columns = matrix.shape
    blocks = matrix.reshape(rows // SIDE, SIDE, columns // SIDE, SIDE).transpose(0, 2, 1, 3)
    return from_matrices(blocks.reshape(-1, SIDE, SIDE)).reshape(-1)


def tiles_to_matrix(tiles: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The inverse of `matrix_to_tiles`."""
    blocks = to_matrices(tiles.reshape(-1, TILE)).reshape(rows // SIDE, columns // SIDE, SIDE, SIDE)
    return blocks.transpose(0, 2, 1, 3).reshape(rows, columns)
