"""KernBench: how fast will a kernel run on an accelerator that may not exist yet, and why?

The names below are the public surface, twice: as imports for type checkers, and by module for `__getattr__`, which imports a
name when it is first used, so that `import kernbench` costs nothing.
"""

# ruff: noqa: F401 - ruff cannot read __all__ below
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernbench.errors import (
        AddressError,
        DeadlockError,
        InputError,
        KernBenchError,
        KernelError,
        LimitError,
        OutOfMemoryError,
        RunError,
        UnreachableError,
    )
    from kernbench.host.memory.placement import DPPolicy, part_of, tile_grid
    from kernbench.host.tensor_parallel.layers import ColumnParallelLinear, RowParallelLinear, VocabParallelEmbedding
    from kernbench.host.tensor_parallel.regions import (
        copy_to_tp_region,
        gather_from_tp_region,
        reduce_from_tp_region,
        scatter_to_tp_region,
    )
    from kernbench.machine import load_machine
    from kernbench.oplog.record import OpRecord, read_records
    from kernbench.runs.bench import bench, list_benches
    from kernbench.runs.result import RunResult
    from kernbench.runs.run import run_bench as run
    from kernbench.sweep.run import sweep
    from kernbench.tl.context import TLContext
    from kernbench.tl.current_context import run_kernel

_NAMES: dict[str, tuple[str, ...]] = {  # by module
    "errors": (
        "AddressError",
        "DeadlockError",
        "InputError",
        "KernBenchError",
        "KernelError",
        "LimitError",
        "OutOfMemoryError",
        "RunError",
        "UnreachableError",
    ),
    "host.memory.placement": ("DPPolicy", "part_of", "tile_grid"),
    "host.tensor_parallel.layers": ("ColumnParallelLinear", "RowParallelLinear", "VocabParallelEmbedding"),
    "host.tensor_parallel.regions": (
        "copy_to_tp_region",
        "gather_from_tp_region",
        "reduce_from_tp_region",
        "scatter_to_tp_region",
    ),
    "machine": ("load_machine",),
    "oplog.record": ("OpRecord", "read_records"),
    "runs.bench": ("bench", "list_benches"),
    "runs.result": ("RunResult",),
    "runs.run": ("run",),
    "sweep": ("sweep",),
    "tl.context": ("TLContext",),
    "tl.current_context": ("run_kernel",),
}
_ATTRIBUTES = {"run": "run_bench"}  # that have another name at home
_HOMES = {name: f"kernbench.{module}" for module, names in _NAMES.items() for name in names}
__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll] - it takes the names from the imports


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kernbench' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), _ATTRIBUTES.get(name, name))
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
