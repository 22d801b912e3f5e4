"""Operations of a processor that products and quotients of integers take more than a sum.

A multiplication keeps the Baby RISC-V cores busy for 2 cycles, a division for 6 to 33 by the size of the dividend
(Tenstorrent, public documentation); here it is that of an index of twelve bits. Compilers make shifts of powers of two, and a
multiplication and a shift of a division by another constant.
"""

from __future__ import annotations

_PRODUCT, _QUOTIENT = 1, 17
_QUOTIENT_BY_CONSTANT, _REMAINDER_BY_CONSTANT = 2, 5


def _is_power_of_two(number: int | float | None) -> bool:
    return number is not None and number == int(number) and int(number).bit_count() == 1


def product_cost(*operands: int | float | None) -> int:
    """Of a product; an operand is its value if this is a constant."""
    return 0 if any(map(_is_power_of_two, operands)) else _PRODUCT


def quotient_cost(divisor: int | float | None, *, remainder: bool) -> int:
    """Of a quotient or a remainder; the divisor is its value if this is a constant."""
    if _is_power_of_two(divisor):
        return 0
    if divisor is None:
        return _QUOTIENT
    return _REMAINDER_BY_CONSTANT if remainder else _QUOTIENT_BY_CONSTANT
