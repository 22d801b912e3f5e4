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
