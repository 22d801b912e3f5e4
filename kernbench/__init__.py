"""KernBench: how fast will a kernel run on an accelerator that may not exist yet, and why?

The names below are the public surface; they are imported when first used, so that `import kernbench` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernbench.errors import InputError, KernBenchError, RunError
    from kernbench.host.bench import bench
    from kernbench.host.policy import DPPolicy, part_of
    from kernbench.host.run import RunResult
    from kernbench.host.run import run_bench as run
    from kernbench.machine import load_machine
    from kernbench.sweep.run import sweep

__all__ = [
    "DPPolicy",
    "InputError",
    "KernBenchError",
    "RunError",
    "RunResult",
    "bench",
    "load_machine",
    "part_of",
    "run",
    "sweep",
]

_HOMES = {
    "DPPolicy": ("kernbench.host.policy", "DPPolicy"),
    "InputError": ("kernbench.errors", "InputError"),
    "KernBenchError": ("kernbench.errors", "KernBenchError"),
    "RunError": ("kernbench.errors", "RunError"),
    "RunResult": ("kernbench.host.run", "RunResult"),
    "bench": ("kernbench.host.bench", "bench"),
    "load_machine": ("kernbench.machine", "load_machine"),
    "part_of": ("kernbench.host.policy", "part_of"),
    "run": ("kernbench.host.run", "run_bench"),
    "sweep": ("kernbench.sweep", "sweep"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kernbench' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
