"""The order of the tiles of a product and their reads: pure functions of the numbers of tiles."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kernbench.parts.costs import TileOrder
from kernbench.parts.part import Part


class Tiling(TileOrder, Part):
    """The tile-plan generator of a PE: output tiles row by row, each summed up before the next begins."""

    kind: ClassVar[str] = "tiling"
    ports: ClassVar[tuple[str, ...]] = ("order", "reads")


def check_order(order: object, tiles: tuple[int, int, int]) -> str:
    """The requirement that an order of (m, k, n) tiles does not meet, or an empty text."""
    found = np.asarray(order)
    if found.dtype.kind != "i" or found.shape != (np.prod(tiles), 3):
        return f"an integer array of {np.prod(tiles)} tokens and 3 columns, got {found.dtype}{list(found.shape)}"
    if (found < 0).any() or (found >= tiles).any():
        return f"tiles below {tiles}, got {found.max(axis=0).tolist()}"
    if len(np.unique(np.ravel_multi_index(tuple(found.T), tiles))) < len(found):
        return "every product of two tiles once, got one twice"
    return ""


def check_reads(reads: object, order: np.ndarray) -> str:
    """The requirement that the reads of an order do not meet, or an empty text: each tile is read before its use."""
    found = np.asarray(reads)
    if found.dtype != np.bool_ or found.shape != (len(order), 2):
        return f"a truth for each of {len(order)} tokens and 2 operands, got {found.dtype}{list(found.shape)}"
    for operand, columns in enumerate(((0, 1), (1, 2))):
        _, first = np.unique(order[:, columns], axis=0, return_index=True)
        if not found[first, operand].all():
            return f"that the first token of a tile reads it, got none for operand {'ab'[operand]}"
    return ""
