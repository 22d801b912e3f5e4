"""Prefetch hints for rows of a table that are needed soon.

Hundreds of threads read rows of their own, one at a time in turn, in a table that is larger than the caches; processors do
not predict this pattern. A hint changes nothing but the time to load the row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LINE = 8  # words of a cache line
_FOR_WRITING, _KEEP_CLOSE, _DATA = 1, 3, 1  # operands of LLVM's prefetch


def _hint(_typing: Any, pointer: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        at = builder.gep(arguments[0], [arguments[1]])
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [at.type, flag, flag, flag])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [at.type], kind)
        builder.call(hint, [at, flag(_FOR_WRITING), flag(_KEEP_CLOSE), flag(_DATA)])
        return context.get_dummy_value()

    return types.void(pointer, word), generate


def _no_hint(_pointer: Any, _word: Any) -> None:
    """Do nothing: interpreted code has no prefetch."""


prefetch: Callable[[Any, Any], None] = _no_hint if numba.config.DISABLE_JIT else intrinsic(_hint)  # type: ignore[attr-defined]
"""Hint at a word after a pointer."""
