"""Sweeps: a bench at every point of a grid, and the table of what came out.

`kernbench.sweep(grid)` is a call of `kernbench.api.sweep.sweep`: the package is itself the function, since a function of its
name beside it would be one or the other depending on what was imported first. `help(kernbench.api.sweep.sweep)` has the rest.
"""

from __future__ import annotations

import sys
from inspect import Signature, signature
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernbench.api.sweep import sweep as sweep
else:

    class _CallableModule(ModuleType):
        def __call__(self, *arguments: Any, **named: Any) -> Any:
            from kernbench.api.sweep import sweep

            return sweep(*arguments, **named)

        @property
        def __signature__(self) -> Signature:
            from kernbench.api.sweep import sweep

            return signature(sweep)

    sweep = sys.modules[__name__]
    sweep.__class__ = _CallableModule
