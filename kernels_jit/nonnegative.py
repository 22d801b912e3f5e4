"""Indices are never negative here, and the compiler may know.

Numba gives `a[i]` Python's meaning: a negative signed index counts from the end, which costs a comparison and a choice at
every load and store; a fifth to two fifths of the time of the loops, whose work is little else. No function of this
package uses a negative index, so a compiler pass of ours makes every index that is not a constant unsigned before types
are inferred. Under `NUMBA_DISABLE_JIT=1` nothing changes.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.untyped_passes import GenericRewrites
from numba.extending import intrinsic


@intrinsic
def unsigned(_typing: Any, index: Any) -> Any:
    """The index as an unsigned integer; a tuple of integers as a tuple of unsigned ones; anything else as it is."""
    result = index
    if isinstance(index, types.Integer):
        result = types.uintp
    elif isinstance(index, types.UniTuple) and isinstance(index.dtype, types.Integer):
        result = types.UniTuple(types.uintp, index.count)
    return result(index), lambda context, builder, _, args: context.cast(builder, args[0], index, result)


@register_pass(mutates_CFG=False, analysis_only=False)
class NonNegativeIndices(FunctionPass):
    """Hands every index that is not a constant through `unsigned`."""

    _name = "kernbench_nonnegative_indices"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        for block in state.func_ir.blocks.values():
            block.body = [put for statement in block.body for put in _with_unsigned_index(statement, block.scope)]
        return True


def _with_unsigned_index(statement: Any, scope: Any) -> list[Any]:
    at = statement.value if isinstance(statement, ir.Assign) else statement
    if not (isinstance(at, ir.SetItem) or (isinstance(at, ir.Expr) and at.op == "getitem")):
        return [statement]
    loc = statement.loc
    function, index = scope.redefine("$unsigned", loc), scope.redefine("$index", loc)
    call = ir.Expr.call(function, [at.index], (), loc)
    at.index = index
    return [ir.Assign(ir.Global("unsigned", unsigned, loc), function, loc), ir.Assign(call, index, loc), statement]


class Compiler(CompilerBase):
    """Numba's own pipeline with that pass."""

    def define_pipelines(self) -> list[Any]:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(NonNegativeIndices, GenericRewrites)
        pipeline.finalize()
        return [pipeline]
