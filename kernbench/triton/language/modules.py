"""The modules `triton` and `triton.language` of files that import them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from kernbench.errors import KernelError, suggest
from kernbench.triton.language import descriptor, driver, functions, libdevice, memory, random
from kernbench.triton.language.block import tensor
from kernbench.triton.language.compiled import CompiledKernel
from kernbench.triton.language.descriptor import TensorDescriptor
from kernbench.triton.language.jit import JITFunction, KernelInterface, jit
from kernbench.triton.language.reinterpreted import TensorWrapper, reinterpret
from kernbench.triton.language.scaled import dot_scaled
from kernbench.triton.language.testing import TESTING
from kernbench.triton.language.tuning import Autotuner, Config, Heuristics, autotune, heuristics
from kernbench.triton.language.types import dtype

VERSION = "3.5.0"  # whose names there are
_MATH = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "floor", "ceil", "abs", "fma", "erf", "sqrt_rn", "div_rn",
         "fdiv", "umulhi", "maximum", "minimum", "max", "min")  # fmt: skip


def _unknown(module: ModuleType) -> Any:
    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownNameError(module.__name__, name, vars(module))

    return find


class UnknownNameError(AttributeError):
    """A module of Triton has no function of that name."""

    def __init__(self, module: str, name: str, known: Mapping[str, Any]) -> None:
        own = [one for one in known if not one.startswith("_")]
        super().__init__(f"{module} has no function {name!r}{suggest(name, own)}", name=name)


def _fill(module: ModuleType, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(module, name, value)
    module.__getattr__ = _unknown(module)  # type: ignore[method-assign]
    module.__path__ = []


def _language_names() -> dict[str, Any]:
    """Functions, types and classes of the language, without what its modules import for themselves."""
    found = {**vars(memory), **vars(descriptor), **vars(functions), "dot_scaled": dot_scaled}
    own = {name: one for name, one in found.items() if not isinstance(one, ModuleType) and name not in _INTERNAL}
    types = {"dtype": dtype, "tensor": tensor, "block_type": dtype, "void": None, "const": None}
    earlier = {
        "_experimental_make_tensor_descriptor": own["make_tensor_descriptor"],
        "make_tensor_descriptor": own["make_tensor_descriptor"],
    }
    return {**{name: one for name, one in own.items() if not name.startswith("_")}, **types, **earlier}


_INTERNAL = {"Any", "Callable", "Iterator", "Sequence", "NAMES", "annotations", "fail", "named", "as_numbers", "meet", "divide",
             "binary", "mask_of", "as_block", "as_scalar", "typed", "NUMBERS", "add_methods", "block_pointer",
             "tensor_descriptor", "TensorDescriptor"}  # fmt: skip


class OutOfResources(Exception):
    """The error of Triton for a configuration that does not fit; here a launch raises its own."""


def _nothing(*_: Any, **__: Any) -> None:
    """Without effect here."""


def _same(x: Any) -> Any:
    """The argument, as of decorators for a compiler."""
    return x


def _log2(x: Any) -> int:
    """The exponent of a power of two."""
    return int(x).bit_length() - 1


_SUBMODULES = (
    "language", "language.math", "language.extra", "language.extra.libdevice", "language.extra.cuda", "language.extra.hip",
    "language.extra.cuda.libdevice", "language.extra.hip.libdevice", "language.standard", "language.core", "language.random",
    "language.libdevice", "runtime", "runtime.driver", "runtime.jit", "runtime.autotuner", "runtime.errors", "testing",
    "compiler", "compiler.compiler", "compiler.errors", "tools", "tools.tensor_descriptor",
)  # fmt: skip


def _contents() -> dict[str, Mapping[str, Any]]:
    """The names of each module."""
    device, language = libdevice.functions(), _language_names()
    tuning = {"Config": Config, "autotune": autotune, "heuristics": heuristics, "Autotuner": Autotuner,
              "Heuristics": Heuristics, "OutOfResources": OutOfResources}  # fmt: skip
    jits = {
        "JITFunction": JITFunction,
        "KernelInterface": KernelInterface,
        "jit": jit,
        "reinterpret": reinterpret,
        "TensorWrapper": TensorWrapper,
    }
    top = {
        **jits, **tuning, "cdiv": lambda x, y: -(-x // y), "next_power_of_2": functions.next_power_of_2,
        "constexpr_function": _same, "set_allocator": _nothing, "__version__": VERSION,
    }  # fmt: skip
    return {
        "": top,
        "language": language,
        "language.core": {
            **language,
            "builtin": _same,
            "_unwrap_if_constexpr": _same,
            "extern": _same,
        },
        "language.standard": {**language, "_log2": _log2},
        "language.random": vars(random),
        "language.math": {**device, **{name: language[name] for name in _MATH}},
        **{
            f"language.{name}": device
            for name in ("extra.libdevice", "extra.cuda.libdevice", "extra.hip.libdevice", "libdevice")
        },
        "runtime": {**jits, **tuning},
        "runtime.driver": {"active": driver.active},
        "runtime.jit": {**jits, "constexpr_function": _same, "get_cuda_stream": driver.active.get_current_stream},
        "runtime.autotuner": tuning,
        "runtime.errors": {"OutOfResources": OutOfResources},
        "testing": TESTING,
        "compiler": {"CompiledKernel": CompiledKernel},
        "compiler.compiler": {"CompiledKernel": CompiledKernel},
        "compiler.errors": {"CompilationError": KernelError},
        "tools.tensor_descriptor": {"TensorDescriptor": TensorDescriptor},
    }


def _make() -> dict[str, ModuleType]:
    made = {"triton": ModuleType("triton"), **{f"triton.{name}": ModuleType(f"triton.{name}") for name in _SUBMODULES}}
    contents = _contents()
    for name, module in made.items():
        _fill(module, contents.get(name.partition(".")[2], {}))
    for name, module in made.items():
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(made[parent], last, module)
    return made


_MODULES = _make()
LANGUAGE: Any = _MODULES["triton.language"]  # for kernels of KernBench itself, which import no `triton`


@contextmanager
def importable() -> Iterator[None]:
    """Let `import triton` find these modules in the block; an installed Triton is found again afterwards."""
    before = {name: sys.modules.get(name) for name in _MODULES}
    sys.modules.update(_MODULES)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
