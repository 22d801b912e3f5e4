"""Costs of the work of a PE: products, elements, bytes in and out of TCM; and the order of tiles.

A cost is amounts of figures, so a machine with other figures runs the same program. These are the costs of the standard parts;
they need no parameters, and hence no sheet when a machine comes out of the cache. A part dropped in gives its own: a method of
the same name that answers {figure: amount} of its own figures. It must answer alike whenever it is asked alike.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

Amounts = Mapping[str, float]  # of the part's own figures


class GemmCosts:
    """Of a matrix engine."""

    def product(self, m: int, k: int, n: int, bits: int) -> Amounts:
        """An (m, k) times (k, n) product of operands of at most so many bits: a multiply-add is two flop."""
        return {f"flop_{bits}": 2 * m * k * n}


class MathCosts:
    """Of an element-wise engine."""

    def elements(self, function: str, count: int, bits: int) -> Amounts:  # noqa: ARG002
        """A function ("exp", "sum", "bias" ...) of so many elements of so many bits."""
        return {f"element_{bits}": count}


class TcmCosts:
    """Of a PE's scratchpad."""

    def read(self, nbytes: int) -> Amounts:
        """Bytes to the engines."""
        return {"read_byte": nbytes}

    def write(self, nbytes: int) -> Amounts:
        """Bytes from the engines."""
        return {"write_byte": nbytes}


class TileOrder:
    """Of a tile-plan generator; no time, but what happens when. Pure: of the same tiles always the same."""

    def order(self, m: int, k: int, n: int) -> np.ndarray:
        """int64[token, 3]: the tile along m, k and n that each token takes, all of m x k x n once; k innermost."""
        return np.indices((m, n, k), np.int64).reshape(3, -1).T[:, [0, 2, 1]]

    def reads(self, order: np.ndarray) -> np.ndarray:
        """bool[token, 2]: whether a token reads its tile of the first and of the second operand, or finds it in TCM."""
        return np.ones((len(order), 2), np.bool_)
