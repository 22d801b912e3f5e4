"""The two source registers of the matrix unit: what an operation has to unpack.

A bank of a register is given back when an instruction says so, and the library of the chip keeps one operand of a block of
products in its register while the other changes (Tenstorrent, public documentation of Tensix, MVMUL; tt-llk, matmul). So a
product does not unpack an operand that the product before it had in the same place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.tanto.tiles import TILE

if TYPE_CHECKING:
    from kernbench.tanto.formats import Format

Tile = tuple[int, int]  # pipe, and the number of the tile among all that were pushed


class SourceRegisters:
    """What the registers hold."""

    __slots__ = ("_left", "_right")

    def __init__(self) -> None:
        self._left: Tile | None = None
        self._right: Tile | None = None

    def take(self, *formats: Format) -> int:
        """The bytes to unpack for an operation on a tile of each format."""
        self._left = self._right = None
        return sum([fmt.bytes_of(TILE) for fmt in formats])

    def multiply(self, left: Tile, left_bytes: int, right: Tile, right_bytes: int) -> int:
        """The bytes to unpack for a product of two tiles of so many bytes."""
        found = 0
        if left != self._left:
            self._left, found = left, left_bytes
        if right != self._right:
            self._right, found = right, found + right_bytes
        return found
