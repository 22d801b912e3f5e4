"""Sweeps: a grid, its points, a table.

The package is itself the function: `kernbench.sweep(grid)` is `kernbench.sweep.run.sweep(grid)`. A function of that name
beside the package would be one or the other depending on what was imported first.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from kernbench.sweep.run import sweep

        return sweep(*arguments, **named)


sweep = sys.modules[__name__]
sweep.__class__ = _CallableModule
