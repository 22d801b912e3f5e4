"""The modules `triton` and `triton.language` of files that import them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from kernbench.triton.language import functions, memory
from kernbench.triton.language.jit import JITFunction, jit
from kernbench.triton.language.tuning import Config, autotune, heuristics


def _make() -> dict[str, ModuleType]:
    triton, language, math = (ModuleType(name) for name in ("triton", "triton.language", "triton.language.math"))
    for name, value in {**vars(memory), **vars(functions)}.items():
        if not name.startswith("_"):
            setattr(language, name, value)
    for name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "floor", "ceil", "abs", "fma"):
        setattr(math, name, getattr(functions, name))
    language.math = math  # type: ignore[attr-defined]
    triton.language, triton.jit, triton.JITFunction = language, jit, JITFunction  # type: ignore[attr-defined]
    triton.Config, triton.autotune, triton.heuristics = Config, autotune, heuristics  # type: ignore[attr-defined]
    triton.cdiv = functions.cdiv  # type: ignore[attr-defined]
    triton.next_power_of_2 = lambda n: 1 << (int(n) - 1).bit_length()  # type: ignore[attr-defined]
    triton.__path__ = []
    language.__path__ = []
    return {"triton": triton, "triton.language": language, "triton.language.math": math}


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
