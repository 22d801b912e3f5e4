"""Launches of kernels: who takes those of files, a kernel with its grid, and the arguments of a launch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.errors import InputError, shorten, suggest
from kernbench.triton.language.block import as_block, pointer
from kernbench.triton.language.compiled import CompiledKernel
from kernbench.triton.language.descriptor import TensorDescriptor
from kernbench.triton.language.machine import Machine, Pointee, running
from kernbench.triton.language.memory_of_launch import Memory
from kernbench.triton.language.types import of_short
from kernbench.triton.lowering.dealing import AXES, Dealing
from kernbench.triton.lowering.grid_kernel import GridLaunch, TensorArgument

if TYPE_CHECKING:
    from kernbench.triton.language.jit import Kernel

LAUNCH = ("num_stages", "num_warps", "num_ctas", "maxnreg")  # arguments of launches that are no parameters of kernels
_POINTEES = "(addresses)"  # a name that no parameter has
_HINTS = (
    "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl", "debug", "sanitize_overflow", "extern_libs", "stream",
    "device", "waves_per_eu", "kpack", "matrix_instr_nonkdim", "schedule_hint", "cluster_dims", "max_num_imprecise_acc_default",
)  # fmt: skip  # to compilers and to GPUs, without effect


Measure = Callable[["KernelOnGrid", Sequence[Any], Mapping[str, Any]], float]


class Launcher(NamedTuple):
    """Who takes launches of files: `clock` is the simulated time of all so far in ns, `measure` that of one by itself."""

    launch: Callable[[KernelOnGrid, Sequence[Any], Mapping[str, Any]], object]
    clock: Callable[[], float] | None = None
    measure: Measure | None = None


_launcher: ContextVar[Launcher | None] = ContextVar("launcher", default=None)


@contextmanager
def launching(launcher: Launcher) -> Iterator[None]:
    """Hand the launches `kernel[grid](...)` of the block to a launcher."""
    token = _launcher.set(launcher)
    try:
        yield
    finally:
        _launcher.reset(token)


def launched_ns() -> float | None:
    """The simulated time of all launches so far; None where nobody simulates them."""
    launcher = _launcher.get()
    return None if launcher is None or launcher.clock is None else launcher.clock()


class KernelOnGrid(GridLaunch):
    """A kernel with its grid, for `torch.launch`."""

    def __init__(self, kernel: Kernel, grid: Any, pointees: Sequence[tuple[int, int, Any]] = ()) -> None:
        """`pointees` are tensors that the kernel reaches by addresses: where each begins on the host, its bytes, itself."""
        self.kernel, self.grid, self._pointees = kernel, grid, pointees

    def with_pointees(self, pointees: Sequence[tuple[int, int, Any]]) -> KernelOnGrid:
        """The same, with tensors that it reaches by addresses."""
        return KernelOnGrid(self.kernel, self.grid, pointees)

    def __call__(self, *args: Any, **options: Any) -> CompiledKernel:
        launcher = _launcher.get()
        if launcher is not None:
            self.kernel.tune(self, args, options, launcher.measure)
            launcher.launch(self, args, options)
            return CompiledKernel(self.kernel, args, options)
        raise InputError(
            f"kernel {self.kernel.__name__} at {self.kernel.place} was launched by itself; a bench launches it with "
            "torch.launch(name, kernel[grid], arguments)"
        )

    def prepare_launch(
        self, args: Sequence[Any], options: Mapping[str, Any], dealing: str | None, order: str | None
    ) -> Bound:
        """The kernel of a launch with these arguments, and what of them goes to the device. Errors: InputError."""
        signature = inspect.signature(self.kernel.code)
        named = dict(zip(signature.parameters, args, strict=False))
        options = dict(options)
        self.kernel.complete(options, {**named, **options})
        known = {*LAUNCH, *_HINTS} - set(signature.parameters)
        given = {name: value for name, value in options.items() if name not in known}
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
            for name in LAUNCH[1:]
            if name in options and name not in signature.parameters
        ]
        return Bound(
            self.kernel,
            grid,
            dict(bound.arguments),
            stages,
            Dealing(dealing or "cyclic", order or AXES),
            remarks,
            self._pointees,
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
        kernel: Kernel,
        grid: tuple[int, int, int],
        arguments: dict[str, Any],
        stages: int,
        dealing: Dealing,
        remarks: Sequence[str],
        pointees: Sequence[tuple[int, int, Any]] = (),
    ) -> None:
        self.__name__, self.code = kernel.__name__, kernel.code
        self.grid, self.dealing, self.remarks = grid, dealing, remarks
        self._kernel, self.stages = kernel, stages
        self.given: Mapping[str, Any] = arguments  # as the launch has them, with all constants
        self._described = {name: one for name, one in arguments.items() if isinstance(one, TensorDescriptor)}
        bases = {name: (one.base,) for name, one in self._described.items()}
        self._arguments: dict[str, Any] = {**arguments, **bases}
        self._spans = [(start, nbytes) for start, nbytes, _ in pointees]
        if pointees:
            self._arguments[_POINTEES] = tuple(tensor for _, _, tensor in pointees)
        self._tensors: tuple[TensorArgument, ...] = ()

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The values of its parameters, in their order."""
        return tuple(self._arguments.values())

    @property
    def named_arguments(self) -> Mapping[str, Any]:
        """The values of its parameters, by name."""
        return self._arguments

    def replace(self, value: Callable[[Any, str], Any]) -> None:
        """Give parameters other values: `value(old, name)` of each, and of each part of one that is a tuple."""
        self._arguments = {name: _mapped(one, name, value) for name, one in self._arguments.items()}

    def bind(self, args: Sequence[Any]) -> None:
        """As of `GridKernel`."""
        self._arguments = dict(zip(self._arguments, args, strict=True))

    def run(self, recorder: Machine) -> None:
        """As of `GridKernel`."""
        constants = self._kernel.constants
        given = {
            name: one if name in constants else _mapped(one, name, _as_parameter)
            for name, one in self._arguments.items()
        }
        given |= {name: one.on(given[name][0]) for name, one in self._described.items()}
        reached: Sequence[pointer] = given.pop(_POINTEES, ())
        pointees = [Pointee(*span, one.number) for span, one in zip(self._spans, reached, strict=True)]
        with running(recorder, self.stages, pointees), np.errstate(all="ignore"):
            self._kernel.body(**given)

    def compute(self, tensors: Sequence[np.ndarray]) -> None:
        """As of `GridKernel`."""
        names = [
            name for name, value in self._arguments.items() for one in _parts(value) if isinstance(one, TensorArgument)
        ]
        Memory(self.grid, tensors, names).run(lambda memory: self.run(memory))


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _mapped(value: Any, name: str, change: Callable[[Any, str], Any]) -> Any:
    """A value changed, or each part of a tuple."""
    return tuple(_mapped(one, name, change) for one in value) if isinstance(value, tuple) else change(value, name)


def _as_parameter(value: Any, name: str = "") -> Any:  # noqa: ARG001 - of any parameter
    if isinstance(value, TensorArgument):
        return pointer(value.number, np.int64(0), of_short(value.dtype))
    return as_block(value) if type(value) in (bool, int, float) else value
