"""Numba's pipeline as we use it: indices are unsigned, and options are compared once.

Numba looks up the types of every operation under the options of the function it is in, a hundred thousand times for the
loops, and each time compared all options one by one: a sixth of the time that compiling took.
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.typed_passes import NopythonTypeInference

from kernels_jit.nonnegative import NonNegativeIndices


class Settled(Flags):
    """Options of functions that nobody changes any more: there is one for all functions of the same options."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def copy(self) -> Settled:
        """Itself."""
        return self


_settled: dict[str, Settled] = {}


class Pipeline(CompilerBase):
    """Compiles a function of the loops."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Flags, locals: Any
    ) -> None:
        flags = _settled.setdefault(flags.summary(), Settled(flags))
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)

    def define_pipelines(self) -> list[Any]:
        """Numba's own with our pass."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(NonNegativeIndices, NopythonTypeInference)
        passes.finalize()
        return [passes]
