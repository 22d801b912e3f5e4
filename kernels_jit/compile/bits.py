"""Bit operations on words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _trailing_zeros(_typing: Any, _word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _lowest_bit(word: Any) -> int:
    return (int(word) & -int(word)).bit_length() - 1


lowest_bit: Callable[[Any], Any] = _lowest_bit if numba.config.DISABLE_JIT else intrinsic(_trailing_zeros)  # type: ignore[attr-defined]
"""The number of the lowest bit set in an int64 that is not zero."""
