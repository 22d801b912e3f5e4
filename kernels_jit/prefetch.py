"""Telling the processor which row of a table will be wanted soon.

Hundreds of threads walk rows of their own, one at a time in turn, in a table that is larger than the caches; no processor
guesses that. A hint changes nothing but the time that the row takes to come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_FOR_WRITING, _KEEP_CLOSE, _DATA = 1, 3, 1  # operands of LLVM's prefetch


def _hint(_typing: Any, table: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        array = context.make_array(table)(context, builder, arguments[0])
        where = [arguments[1], *[context.get_constant(types.intp, 0)] * (table.ndim - 1)]
        at = cgutils.get_item_pointer(context, builder, table, array, where, wraparound=False)
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [at.type, flag, flag, flag])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [at.type], kind)
        builder.call(hint, [at, flag(_FOR_WRITING), flag(_KEEP_CLOSE), flag(_DATA)])
        return context.get_dummy_value()

    return types.void(table, row), generate


def _no_hint(_table: Any, _row: Any) -> None:
    """Without a compiler there is nobody to tell."""


prefetch: Callable[[Any, Any], None] = _no_hint if numba.config.DISABLE_JIT else intrinsic(_hint)  # type: ignore[attr-defined]
