"""Bits of a word."""

from __future__ import annotations

from typing import Any

import numba
from numba.cpython.unsafe.numbers import trailing_zeros

from kernels_jit._jit import inner


@inner
def _lowest_bit(word):
    return trailing_zeros(word)  # type: ignore[call-arg]


def _lowest_bit_of_a_number(word: Any) -> int:
    return (int(word) & -int(word)).bit_length() - 1


lowest_bit = _lowest_bit_of_a_number if numba.config.DISABLE_JIT else _lowest_bit  # type: ignore[attr-defined]
"""The number of the lowest bit set in an int64 that is not zero."""
