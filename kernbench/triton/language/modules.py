"""The modules `triton` and `triton.language` of files that import them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

from kernbench.errors import suggest
from kernbench.triton.language import functions, libdevice, memory, random
from kernbench.triton.language.jit import JITFunction, jit
from kernbench.triton.language.testing import TESTING
from kernbench.triton.language.tuning import Config, autotune, heuristics

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
        if not name.startswith("_"):
            setattr(module, name, value)
    module.__getattr__ = _unknown(module)  # type: ignore[method-assign]
    module.__path__ = []


def _language_names() -> dict[str, Any]:
    """Functions, types and classes of the language, without what its modules import for themselves."""
    found = {**vars(memory), **vars(functions)}
    return {name: one for name, one in found.items() if not isinstance(one, ModuleType) and name not in _INTERNAL}


_INTERNAL = {"Any", "Callable", "Iterator", "Sequence", "NAMES", "annotations", "fail", "named", "as_numbers", "meet", "divide",
             "binary", "mask_of", "as_block", "as_scalar", "typed", "NUMBERS"}  # fmt: skip


class _Driver:
    """What files ask of the driver of a device: that there is one, and which."""

    class active:
        """The device in use."""

        @staticmethod
        def get_current_target() -> SimpleNamespace:
            """A target of our own name."""
            return SimpleNamespace(backend="kernbench", arch="kernbench", warp_size=32)

        @staticmethod
        def get_active_torch_device() -> Any:
            """The device of torch named cuda: ours."""
            return importlib.import_module("torch").device("cuda", 0)

        @staticmethod
        def get_current_device() -> int:
            """The first."""
            return 0

        class utils:
            """Properties of a device."""

            @staticmethod
            def get_device_properties(_: Any) -> dict[str, int]:
                """Those that launchers divide work by."""
                return {"multiprocessor_count": 8, "max_shared_mem": 1 << 20, "max_num_regs": 1 << 16, "warpSize": 32}


def _make() -> dict[str, ModuleType]:
    names = ("", ".language", ".language.math", ".language.extra", ".language.extra.libdevice", ".language.extra.cuda",
             ".language.extra.cuda.libdevice", ".language.standard", ".language.core", ".language.random", ".runtime",
             ".runtime.driver", ".runtime.jit", ".runtime.autotuner", ".testing", ".compiler", ".tools")  # fmt: skip
    made = {f"triton{name}": ModuleType(f"triton{name}") for name in names}
    device, language = libdevice.functions(), _language_names()
    contents: dict[str, Mapping[str, Any]] = {
        "triton": {
            "jit": jit, "JITFunction": JITFunction, "Config": Config, "autotune": autotune, "heuristics": heuristics,
            "cdiv": lambda x, y: -(-x // y), "next_power_of_2": functions.next_power_of_2, "constexpr_function": lambda fn: fn,
        },
        "triton.language": language,
        "triton.language.core": language,
        "triton.language.standard": language,
        "triton.language.random": vars(random),
        "triton.language.math": {**device, **{name: language[name] for name in _MATH}},
        "triton.language.extra.libdevice": device,
        "triton.language.extra.cuda.libdevice": device,
        "triton.runtime.driver": {"active": _Driver.active},
        "triton.runtime.jit": {"JITFunction": JITFunction, "jit": jit},
        "triton.runtime.autotuner": {"Config": Config, "autotune": autotune, "heuristics": heuristics},
        "triton.testing": TESTING,
    }  # fmt: skip
    for name, module in made.items():
        _fill(module, contents.get(name, {}))
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(made[parent], last, module)
    made["triton.language"].libdevice = made["triton.language.extra.libdevice"]  # type: ignore[attr-defined]
    made["triton"].__version__ = "3.0.0"  # type: ignore[attr-defined]
    return made


_MODULES = _make()


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
