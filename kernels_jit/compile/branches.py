"""Hints which way a branch seldom goes, and choices without a branch.

Rules for what few programs do stand among those that each flit needs. Without a hint the compiler thinks both ways as
likely, and keeps registers and room in the loop for both. A branch that goes one way as often as the other, at random, costs
more than to compute both sides. Neither changes anything but the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _expect_false(_typing: Any, _condition: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        bit = ir.IntType(1)
        kind = ir.FunctionType(bit, [bit, bit])
        return builder.call(builder.module.declare_intrinsic("llvm.expect", [bit], kind), [arguments[0], bit(0)])

    return types.boolean(types.boolean), generate


def _select(_typing: Any, _condition: Any, _one: Any, _other: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        found = builder.select(*arguments)
        found.set_metadata(
            "unpredictable", builder.module.add_metadata([])
        )  # or the compiler may make it a branch again
        return found

    return types.int64(types.boolean, types.int64, types.int64), generate


def _choose(condition: Any, one: Any, other: Any) -> Any:
    return one if condition else other


def _same(condition: Any) -> Any:
    return condition


rarely: Callable[[Any], Any] = _same if numba.config.DISABLE_JIT else intrinsic(_expect_false)  # type: ignore[attr-defined]
"""A condition, as it is, that is seldom true."""

choose: Callable[[Any, Any, Any], Any] = _choose if numba.config.DISABLE_JIT else intrinsic(_select)  # type: ignore[attr-defined]
"""One of two int64, the first if the condition holds; both are computed."""
