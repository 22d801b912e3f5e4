"""What the work of a PE costs where the amount of it matters: products, elements, bytes in and out of TCM.

A cost is amounts of figures, so a machine with other figures runs the same program. These are the costs of the standard parts;
they need no parameters, and hence no sheet when a machine comes out of the cache. A part dropped in gives its own: a method of
the same name that answers {figure: amount} of its own figures. It must answer alike whenever it is asked alike.
"""

from __future__ import annotations

from collections.abc import Mapping

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
