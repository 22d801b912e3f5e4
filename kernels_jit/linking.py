"""What compiled functions call becomes part of them, and is optimised with them, once.

Numba optimises every function with all that it calls, makes machine code of it, and does so again for whoever calls it. The
loops are ten calls deep: what lies at the bottom was optimised ten times, and half of the time of compiling went there. Here
a function that compiled code calls is a `Part`: it stays as it is. One that Python calls is a `Whole`: it takes in all parts
that it needs, is optimised and becomes machine code, and is what the cache keeps. A function called from both sides is
compiled for both.

Since nobody else can call what a whole has taken in, calls there need not keep to any convention: arguments that are not used
are dropped in the end, most of the seven words of every array, and GEMMs run 1.15 times as fast in hybrid mode. That comes
last because the optimiser takes more in where it knows that nobody else calls, and flits on a mesh are slower if it does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from llvmlite.binding import create_new_module_pass_manager
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Flags
from numba.core.llvm_bindings import create_pass_builder
from numba.core.registry import CPUDispatcher

from kernels_jit.overloads import Overloads
from kernels_jit.pipeline import Pipeline

_TAKEN_IN = "linkonce_odr"  # the linkage by which numba, too, marks what comes from other functions


class Part(JITCodeLibrary):
    """The code of a function for those that call it."""

    def finalize(self) -> None:
        """Nothing more will be added."""
        self._finalized = True
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = _TAKEN_IN

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _get_module_for_linking(self) -> Any:
        return self._final_module


class Whole(JITCodeLibrary):
    """The code of a function with that of all it calls."""

    def finalize(self) -> None:
        """Take in all parts, optimise, make machine code."""
        libraries = dict.fromkeys(self._linking_libraries)
        pending = list(libraries)
        while pending:
            library = pending.pop()
            if isinstance(library, Part):
                fresh = [other for other in library._linking_libraries if other not in libraries]
                libraries.update(dict.fromkeys(fresh))
                pending += fresh
        self._linking_libraries = list(libraries)
        super().finalize()

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == _TAKEN_IN:
                function.linkage = "internal"
        passes = create_new_module_pass_manager()
        passes.add_dead_arg_elimination_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(self._final_module, create_pass_builder(self._codegen._tm, opt=3))


class PartPipeline(Pipeline):
    """Compiles a function to a part."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Flags, locals: Any
    ) -> None:
        flags.no_compile = True  # type: ignore[attr-defined]
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)

    def define_pipelines(self) -> list[Any]:
        """Those of `Pipeline`, for a part."""
        self.state.library = Part(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


class WholePipeline(Pipeline):
    """Compiles a function to a whole."""

    def define_pipelines(self) -> list[Any]:
        """Those of `Pipeline`, for a whole."""
        self.state.library = Whole(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super().define_pipelines()


class Parts(CPUDispatcher):
    """A function as compiled code calls it."""

    def add_overload(self, cres: Any) -> None:
        """Let compiled code find the function for some types. There is nothing that Python could call."""
        result = cres._replace(entry_point=object())
        self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        self.overloads[tuple(result.signature.args)] = result


class Loop(CPUDispatcher):
    """A function that is compiled when it is called for the first time, from Python or by another one that is compiled."""

    def __init__(self, py_func: Callable[..., Any], locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions, WholePipeline)
        self._cache = Overloads(py_func)

    @cached_property
    def _parts(self) -> Parts:
        bare = self.targetoptions | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return Parts(self.py_func, targetoptions=bare, pipeline_class=PartPipeline)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """How compiled code calls it, for types of arguments; constants are of the type of their value."""
        return self._parts.get_call_template([types.unliteral(arg) for arg in args], kws)

    def get_overload(self, sig: Any) -> Any:
        """What compiled code calls."""
        return self._parts.get_overload(sig)
