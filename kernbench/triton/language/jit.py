"""`triton.jit`: kernels, and the functions that they call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from kernbench.library import show_path
from kernbench.triton.language.compiled import CompiledKernel
from kernbench.triton.language.launches import KernelOnGrid, Measure
from kernbench.triton.language.rewriting import rewrite


class KernelInterface:
    """What files derive launchers of their own from: `launcher[grid](...)` calls its `run`."""

    run: Callable[..., Any]

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **options: self.run(*args, grid=grid, warmup=False, **options)


class Kernel(KernelInterface):
    """A function of Triton, with what completes its constants; `code` is the function of Python."""

    def __init__(self, code: Callable[..., Any]) -> None:
        self.code = code
        self.__name__, self.__doc__ = code.__name__, code.__doc__
        self.arg_names = list(inspect.signature(code).parameters)
        self._body: Callable[..., Any] | None = None
        self._constants: frozenset[str] | None = None

    def __getitem__(self, grid: Any) -> KernelOnGrid:
        return KernelOnGrid(self, grid)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **options: Any) -> CompiledKernel:
        """Launch over a grid, as `kernel[grid](...)` does."""
        return self.warmup(*args, **options) if warmup else self[grid](*args, **options)

    def warmup(self, *args: Any, grid: Any = None, **options: Any) -> CompiledKernel:  # noqa: ARG002
        """The figures of a compiled kernel; nothing is compiled."""
        return CompiledKernel(self, args, options)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.body(*args, **options)

    @property
    def body(self) -> Callable[..., Any]:
        """The function with the builtins of the language."""
        if self._body is None:
            assert isinstance(self.code, FunctionType)
            self._body = rewrite(self.code)
        return self._body

    @property
    def constants(self) -> frozenset[str]:
        """The parameters that are constants of the kernel."""
        if self._constants is None:
            parameters = inspect.signature(self.code).parameters.values()
            self._constants = frozenset(one.name for one in parameters if "constexpr" in str(one.annotation))
        return self._constants

    @property
    def innermost(self) -> Kernel:
        """The kernel without what completes its constants."""
        return self

    def complete(self, options: dict[str, Any], given: Mapping[str, Any]) -> None:
        """Add constants that a launch does not give; a plain kernel has none."""

    def tune(self, launch: KernelOnGrid, args: Sequence[Any], options: dict[str, Any], measure: Measure | None) -> None:
        """Choose what a launch of a whole file leaves open: add it to its options; a plain kernel leaves nothing open."""

    @property
    def place(self) -> str:
        """file:line of the function."""
        return f"{show_path(self.code.__code__.co_filename)}:{self.code.__code__.co_firstlineno}"


class KernelParam(NamedTuple):
    """A parameter of a kernel, as files look at it."""

    name: str
    num: int
    default: Any
    is_constexpr: bool

    @property
    def has_default(self) -> bool:
        """Whether a launch may leave it out."""
        return self.default is not inspect.Parameter.empty


class JITFunction(Kernel):
    """A function under `@triton.jit`: a kernel that is launched over a grid, or a function that kernels call."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(fn)
        self.fn = fn

    @property
    def params(self) -> list[KernelParam]:
        """Its parameters."""
        found = inspect.signature(self.fn).parameters.values()
        return [KernelParam(one.name, at, one.default, one.name in self.constants) for at, one in enumerate(found)]


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:  # noqa: ARG001 - of compilers
    """Make a function a kernel, or one that kernels call."""
    return JITFunction if function is None else JITFunction(function)
