"""The event loop by its address: called where it stands, and not compiled into its caller once more.

The loop is by far the most of the code. Who calls it thus is compiled in a tenth of the time, and pays for a call through a
pointer only once a run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic

from kernels_jit.loop import run

_TABLE = types.int64[:, ::1]
_ARGUMENTS = (types.int64[::1], _TABLE, _TABLE, _TABLE, types.int64)  # of `run`
_ANSWER = types.Tuple((types.int64, _TABLE))


def _call(_typing: Any, address: Any, m: Any, op: Any, times: Any, pool: Any, most_events: Any) -> Any:
    if (m, op, times, pool, most_events) != _ARGUMENTS:
        return None

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(_ANSWER, _ARGUMENTS)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        status, answer = convention.call_function(builder, function, _ANSWER, _ARGUMENTS, arguments[1:])
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return answer

    return _ANSWER(address, *_ARGUMENTS), generate


def _call_function(function: Any, *arguments: Any) -> Any:
    return function(*arguments)


run_at: Callable[..., Any] = _call_function if numba.config.DISABLE_JIT else intrinsic(_call)  # type: ignore[attr-defined]


def address_of_run() -> Any:
    """Where the machine code of `loop.run` stands, which is compiled if need be; without a compiler, the function itself."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return run
    run.compile(_ARGUMENTS)  # type: ignore[attr-defined]
    compiled = run.overloads[_ARGUMENTS]  # type: ignore[attr-defined]
    assert compiled.signature.return_type == _ANSWER
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
