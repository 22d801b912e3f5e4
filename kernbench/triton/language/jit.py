"""`triton.jit`: kernels and the functions that they call; a grid; the arguments of a launch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType
from typing import Any

import numpy as np

from kernbench.errors import InputError, shorten, suggest
from kernbench.library import show_path
from kernbench.triton.language.block import as_block, pointer
from kernbench.triton.language.machine import Machine, running
from kernbench.triton.language.memory_of_launch import Memory
from kernbench.triton.language.rewriting import rewrite
from kernbench.triton.language.types import of_short
from kernbench.triton.lowering.dealing import AXES, Dealing
from kernbench.triton.lowering.grid_kernel import GridLaunch, TensorArgument

LAUNCH = ("num_stages", "num_warps", "num_ctas", "maxnreg")  # arguments of launches that are no parameters of kernels


class JITFunction:
    """A function under `@triton.jit`: a kernel that is launched over a grid, or a function that kernels call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.fn = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._body: Callable[..., Any] | None = None
        self._constants: frozenset[str] | None = None

    def __getitem__(self, grid: Any) -> KernelOnGrid:
        return KernelOnGrid(self, grid)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **options: Any) -> None:
        """Launch over a grid, as `kernel[grid](...)` does."""
        if not warmup:
            self[grid](*args, **options)

    def warmup(self, *_: Any, **__: Any) -> None:
        """Without effect: nothing is compiled."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.body(*args, **options)

    @property
    def body(self) -> Callable[..., Any]:
        """The function with the builtins of the language."""
        if self._body is None:
            assert isinstance(self.fn, FunctionType)
            self._body = rewrite(self.fn)
        return self._body

    @property
    def constants(self) -> frozenset[str]:
        """The parameters that are constants of the kernel."""
        if self._constants is None:
            parameters = inspect.signature(self.fn).parameters.values()
            self._constants = frozenset(one.name for one in parameters if "constexpr" in str(one.annotation))
        return self._constants

    def complete(self, options: dict[str, Any], given: Mapping[str, Any]) -> None:
        """Add constants that a launch does not give; a plain kernel has none."""

    @property
    def place(self) -> str:
        """file:line of the function."""
        return f"{show_path(self.fn.__code__.co_filename)}:{self.fn.__code__.co_firstlineno}"


_launcher: ContextVar[Callable[..., object] | None] = ContextVar("launcher", default=None)


@contextmanager
def launching(launch: Callable[[KernelOnGrid, Sequence[Any], Mapping[str, Any]], object]) -> Iterator[None]:
    """Hand the launches `kernel[grid](...)` of the block to a function."""
    token = _launcher.set(launch)
    try:
        yield
    finally:
        _launcher.reset(token)


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:  # noqa: ARG001 - of compilers
    """Make a function a kernel, or one that kernels call."""
    return JITFunction if function is None else JITFunction(function)


class KernelOnGrid(GridLaunch):
    """A kernel with its grid, for `torch.launch`."""

    def __init__(self, kernel: JITFunction, grid: Any) -> None:
        self.kernel, self.grid = kernel, grid

    def __call__(self, *args: Any, **options: Any) -> None:
        launch = _launcher.get()
        if launch is not None:
            launch(self, args, options)
            return
        raise InputError(
            f"kernel {self.kernel.__name__} at {self.kernel.place} was launched by itself; a bench launches it with "
            "torch.launch(name, kernel[grid], arguments)"
        )

    def prepare_launch(
        self, args: Sequence[Any], options: Mapping[str, Any], dealing: str | None, order: str | None
    ) -> Bound:
        """The kernel of a launch with these arguments, and what of them goes to the device. Errors: InputError."""
        signature = inspect.signature(self.kernel.fn)
        named = dict(zip(signature.parameters, args, strict=False))
        options = dict(options)
        self.kernel.complete(options, {**named, **options})
        given = {name: value for name, value in options.items() if name not in LAUNCH or name in signature.parameters}
        for name in given:
            if name not in signature.parameters:
                raise InputError(
                    f"kernel {self.kernel.__name__} at {self.kernel.place} has no parameter {name!r}"
                    f"{suggest(name, [*signature.parameters, *LAUNCH])}"
                )
        try:
            bound = signature.bind(*args, **given)
        except TypeError as error:
            raise InputError(f"kernel {self.kernel.__name__} at {self.kernel.place}: {error}") from error
        bound.apply_defaults()
        stages = options.get("num_stages", 3)
        if not isinstance(stages, int) or stages < 1:
            raise InputError(f"kernel {self.kernel.__name__} got num_stages={stages!r}; give a whole number, 1 or more")
        grid = self._find_grid(bound.arguments)
        remarks = [
            f"kernel {self.kernel.__name__}: {name} has no meaning here: a PE has one control CPU, and engines for whole blocks"
            for name in ("num_warps", "num_ctas", "maxnreg")
            if name in options and name not in signature.parameters
        ]
        return Bound(
            self.kernel, grid, dict(bound.arguments), stages, Dealing(dealing or "cyclic", order or AXES), remarks
        )

    def _find_grid(self, arguments: Mapping[str, Any]) -> tuple[int, int, int]:
        grid: Any = self.grid(dict(arguments)) if callable(self.grid) else self.grid
        sizes: tuple[Any, ...] = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
        if not 1 <= len(sizes) <= 3 or not all(isinstance(size, (int, np.integer)) and size > 0 for size in sizes):
            raise InputError(
                f"kernel {self.kernel.__name__} at {self.kernel.place} got the grid {shorten(repr(grid))}; give one to three "
                "whole numbers, each 1 or more"
            )
        x, y, z = (*(int(size) for size in sizes), 1, 1)[:3]
        return x, y, z


class Bound:
    """A kernel with its grid and its arguments: a `GridKernel`."""

    def __init__(
        self,
        kernel: JITFunction,
        grid: tuple[int, int, int],
        arguments: dict[str, Any],
        stages: int,
        dealing: Dealing,
        remarks: Sequence[str],
    ) -> None:
        self.__name__, self.code = kernel.__name__, kernel.fn
        self.grid, self.dealing, self.remarks = grid, dealing, remarks
        self._kernel, self._arguments, self._stages = kernel, arguments, stages
        self._tensors: tuple[TensorArgument, ...] = ()

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The values of its parameters, in their order."""
        return tuple(self._arguments.values())

    @property
    def named_arguments(self) -> Mapping[str, Any]:
        """The values of its parameters, by name."""
        return self._arguments

    def replace(self, values: Mapping[str, Any]) -> None:
        """Give parameters other values."""
        self._arguments = {**self._arguments, **values}

    def bind(self, args: Sequence[Any]) -> None:
        """As of `GridKernel`."""
        self._arguments = dict(zip(self._arguments, args, strict=True))

    def run(self, recorder: Machine) -> None:
        """As of `GridKernel`."""
        constants = self._kernel.constants
        given = {name: one if name in constants else _as_parameter(one) for name, one in self._arguments.items()}
        with running(recorder, self._stages), np.errstate(all="ignore"):
            self._kernel.body(**given)

    def compute(self, tensors: Sequence[np.ndarray]) -> None:
        """As of `GridKernel`."""
        names = [name for name, value in self._arguments.items() if isinstance(value, TensorArgument)]
        Memory(self.grid, tensors, names).run(lambda memory: self.run(memory))


def _as_parameter(value: Any) -> Any:
    if isinstance(value, TensorArgument):
        return pointer(value.number, np.int64(0), of_short(value.dtype))
    return as_block(value) if type(value) in (bool, int, float) else value
