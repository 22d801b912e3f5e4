"""Indices are never negative here, and the compiler may know.

Numba gives `a[i]` Python's meaning: a negative signed index counts from the end, which costs a comparison and a choice at
every load and store; a fifth to two fifths of the time of the loops, whose work is little else. No function of this
package uses a negative index, so a compiler pass of ours makes every index that is not a constant unsigned once types
are known. Under `NUMBA_DISABLE_JIT=1` nothing changes.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass


@register_pass(mutates_CFG=False, analysis_only=False)
class NonNegativeIndices(FunctionPass):
    """Lets loads from arrays and stores to them take their index as an unsigned integer, or a tuple of such."""

    _name = "kernbench_nonnegative_indices"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        for block in state.func_ir.blocks.values():
            for statement in block.body:
                at = statement.value if isinstance(statement, ir.Assign) else statement
                if isinstance(at, ir.SetItem) or (isinstance(at, ir.Expr) and at.op == "getitem"):
                    call = state.calltypes.pop(at)
                    indexed, index, *value = call.args
                    if isinstance(indexed, types.Array):
                        call = call.replace(args=(indexed, _unsigned(index), *value))
                    state.calltypes[at] = call
        return True


def _unsigned(index: Any) -> Any:
    if isinstance(index, types.Integer):
        return types.uintp
    if isinstance(index, types.UniTuple) and isinstance(index.dtype, types.Integer):
        return types.UniTuple(types.uintp, index.count)
    return index
