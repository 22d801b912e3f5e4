"""Operations on words for which Python has no operator: of bits, of several words at once, without signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _trailing_zeros(_typing: Any, _word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _at_most(_typing: Any, pointer: Any, _word: Any, _limit: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        start, place, most = arguments
        words, lane = ir.VectorType(ir.IntType(64), GROUP), ir.IntType(32)
        some = builder.load(builder.bitcast(builder.gep(start, [place]), words.as_pointer()), align=8)
        limits = builder.insert_element(ir.Constant(words, ir.Undefined), most, lane(0))
        limits = builder.shuffle_vector(limits, limits, ir.Constant(ir.VectorType(lane, GROUP), [lane(0)] * GROUP))
        found = builder.bitcast(builder.icmp_signed("<=", some, limits), ir.IntType(GROUP))
        return builder.zext(found, ir.IntType(64))

    return types.int64(pointer, types.int64, types.int64), generate


def _quotient(_typing: Any, _number: Any, _divisor: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.udiv(*arguments)

    return types.int64(types.int64, types.int64), generate


def _compare(pointer: Any, word: Any, limit: Any) -> Any:
    return np.int64(sum(int(pointer[word + at] <= limit) << at for at in range(GROUP)))


def _floor(number: Any, divisor: Any) -> Any:
    return number // divisor


def _lowest_bit(word: Any) -> int:
    return (int(word) & -int(word)).bit_length() - 1


lowest_bit: Callable[[Any], Any] = _lowest_bit if numba.config.DISABLE_JIT else intrinsic(_trailing_zeros)  # type: ignore[attr-defined]
"""The number of the lowest bit set in an int64 that is not zero."""

quotient: Callable[[Any, Any], Any] = _floor if numba.config.DISABLE_JIT else intrinsic(_quotient)  # type: ignore[attr-defined]
"""`number // divisor` of an int64 that is not negative and one that is positive; `//` looks at signs and zeros."""

GROUP = 8  # words that are compared at once

at_most: Callable[[Any, Any, Any], Any] = _compare if numba.config.DISABLE_JIT else intrinsic(_at_most)  # type: ignore[attr-defined]
"""Which of the `GROUP` words from one on after a pointer are at most a limit, as bits."""
