"""Costs of the work of a PE (products, elements, bytes to and from TCM), and the order of tiles.

A cost is amounts of figures, so the same program runs on machines with other figures. These are the costs of the standard
parts. They need no parameters, so a machine from the cache needs no sheets. A drop-in gives its own costs: a method of the same
name that returns {figure: amount} of its own figures. It must return the same for the same arguments.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

Amounts = Mapping[str, float]  # of the part's own figures


class GemmCosts:
    """The costs of a matrix engine."""

    def product(self, m: int, k: int, n: int, bits: int) -> Amounts:
        """An (m, k) times (k, n) product of operands of at most `bits` bits; a multiply-add is two flop."""
        return {f"flop_{bits}": 2 * m * k * n}


class MathCosts:
    """The costs of an element-wise engine."""

    def elements(self, function: str, count: int, bits: int) -> Amounts:  # noqa: ARG002
        """A function ("exp", "sum", "bias" ...) of `count` elements of `bits` bits."""
        return {f"element_{bits}": count}


class TcmCosts:
    """The costs of a PE's scratchpad."""

    def read(self, nbytes: int) -> Amounts:
        """Reading bytes for the engines."""
        return {"read_byte": nbytes}

    def write(self, nbytes: int) -> Amounts:
        """Writing bytes of the engines."""
        return {"write_byte": nbytes}


class TileOrder:
    """The order of a tile-plan generator: pure functions of the numbers of tiles, which take no time."""

    def order(self, m: int, k: int, n: int) -> np.ndarray:
        """int64[token, 3]: the tile along m, k and n of each token, each of m x k x n once; k is innermost."""
        return np.indices((m, n, k), np.int64).reshape(3, -1).T[:, [0, 2, 1]]

    def reads(self, order: np.ndarray) -> np.ndarray:
        """bool[token, 2]: whether a token reads its tile of the first and second operand; else the tile is in TCM already."""
        return np.ones((len(order), 2), np.bool_)
