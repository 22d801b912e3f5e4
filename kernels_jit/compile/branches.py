"""Hints which way a branch seldom goes.

Rules for what few programs do stand among those that each flit needs. Without a hint the compiler thinks both ways as
likely, and keeps registers and room in the loop for both. A hint changes nothing but the time.
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


def _same(condition: Any) -> Any:
    return condition


rarely: Callable[[Any], Any] = _same if numba.config.DISABLE_JIT else intrinsic(_expect_false)  # type: ignore[attr-defined]
"""A condition, as it is, that is seldom true."""
