"""Entry points compiled as whole programs: what only compiled code calls is optimised once, as part of its entry point.

Numba optimises each function, and makes machine code of it, together with all that it calls. So what stands at the bottom of
ten levels of calls is compiled ten times. Here an *inner* function is translated and no more; the *entry point* above it links
every function below it once. The first run takes a third of the processor time and of the memory.

These classes override parts of numba that are not public. A numba that lacks one of them, or in which a small program does not
come out right, compiles in its own way: the same results, later (`compilers`, `is_sound`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba

from kernels_jit.compile.progress import note_translation


class _NoEnvironments:
    """Replaces the code generator of an inner function, whose constants have no place without machine code."""

    @staticmethod
    def set_env(_name: str, _environment: Any) -> None:
        return


@cache
def compilers() -> tuple[Any, Any] | None:
    """The compilers of inner functions and of entry points for `njit(pipeline_class=…)`; None if numba lacks what they need."""
    try:
        from numba.core.codegen import JITCodeLibrary
        from numba.core.compiler import CompilerBase, DefaultPassBuilder
        from numba.core.compiler_machinery import LoweringPass, register_pass
        from numba.core.environment import lookup_environment
        from numba.core.typed_passes import AnnotateTypes
    except ImportError:
        return None

    class InnerLibrary(JITCodeLibrary):
        """The code of an inner function: never optimised nor turned into machine code by itself."""

        codegen: Any = _NoEnvironments

        def finalize(self) -> None:
            self._raise_if_finalized()
            self._finalized = True

        def get_pointer_to_function(self, _name: str) -> int:
            return 0

        def _get_module_for_linking(self) -> Any:
            return self._final_module

    class EntryLibrary(JITCodeLibrary):
        """The code of an entry point with all inner functions below it."""

        def finalize(self) -> None:
            below, todo = {}, list(self._linking_libraries)
            while todo:
                library = todo.pop()
                if library not in below:
                    below[library] = None
                    todo += library._linking_libraries if isinstance(library, InnerLibrary) else ()
            self._linking_libraries = list(below)
            super().finalize()
            generator: Any = self.codegen
            for variable in self._final_module.global_variables:
                if (environment := lookup_environment(variable.name)) is not None:
                    generator.set_env(variable.name, environment)

        def _optimize_final_module(self) -> None:
            inner = [library for library in self._linking_libraries if isinstance(library, InnerLibrary)]
            own = {function.name for library in inner for function in library.get_defined_functions()}
            for function in self._final_module.functions:
                if (
                    function.name in own
                ):  # no other module has them: they need no code of their own where all calls are inlined
                    function.linkage = "internal"
            super()._optimize_final_module()

    @register_pass(mutates_CFG=False, analysis_only=False)
    class ChooseLibrary(LoweringPass):
        """Gives a function the kind of library that its compiler names."""

        _name = "kernels_jit_choose_library"

        def __init__(self) -> None:
            LoweringPass.__init__(self)

        def run_pass(self, state: Any) -> bool:
            state.library = state.pipeline.library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            return True

    class WholeProgramCompiler(CompilerBase):
        """Numba's compiler, but that libraries are of a kind named by a subclass if numba is as these classes expect."""

        library: type

        def define_pipelines(self) -> list[Any]:
            note_translation()
            manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
            if is_sound():
                manager.add_pass_after(ChooseLibrary, AnnotateTypes)
                manager.finalize()
            return [manager]

    class InnerCompiler(WholeProgramCompiler):
        library = InnerLibrary

    class EntryCompiler(WholeProgramCompiler):
        library = EntryLibrary

    return InnerCompiler, EntryCompiler


_probing = False


def is_sound() -> bool:
    """Whether numba compiles a small program of two levels rightly in this way; found at the first compilation of a process."""
    return _probing or _probe()


@cache
def _probe() -> bool:
    global _probing
    found = compilers()
    assert found is not None
    inner, entry = found
    _probing = True
    try:
        bottom = numba.njit(pipeline_class=inner)(_third)
        middle = numba.njit(pipeline_class=inner)(lambda number: bottom(number) + 1)
        top = numba.njit(pipeline_class=entry)(lambda number: 10 * middle(number) + bottom(2 * number))
        return top(6) == 34
    except Exception:  # whatever another numba raises: it compiles in its own way then
        return False
    finally:
        _probing = False


def _third(number: Any) -> Any:
    assert number >= 0, "below zero"
    return number // 3
