"""Weights stay: all tiles of the first operand that a tile of the second is multiplied with go through while it is in TCM.

Tokens go in the order n, k, m. So a tile of the second operand is read once instead of once for each row of tiles, and the sums
of a column of output tiles are all under way at once.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kernbench.parts.part import Part


class WeightStationary(Part):
    """A tile-plan generator without parameters."""

    kind: ClassVar[str] = "tiling"

    def order(self, m: int, k: int, n: int) -> np.ndarray:
        """m innermost, then k, then n."""
        return np.indices((n, k, m), np.int64).reshape(3, -1).T[:, ::-1]

    def reads(self, order: np.ndarray) -> np.ndarray:
        """The first operand always; the second where its tile is another than the token before had."""
        reads = np.ones((len(order), 2), np.bool_)
        reads[1:, 1] = (order[1:, 1:] != order[:-1, 1:]).any(axis=1)
        return reads
