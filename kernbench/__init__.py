"""KernBench: how fast will a kernel run on an accelerator that may not exist yet, and why?

The names below are the public surface; they are imported when first used, so that `import kernbench` costs nothing.
"""

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

__all__ = [
    "AddressError",
    "ColumnParallelLinear",
    "DPPolicy",
    "DeadlockError",
    "InputError",
    "KernBenchError",
    "KernelError",
    "OpRecord",
    "OutOfMemoryError",
    "RowParallelLinear",
    "RunError",
    "RunResult",
    "TLContext",
    "UnreachableError",
    "VocabParallelEmbedding",
    "bench",
    "copy_to_tp_region",
    "gather_from_tp_region",
    "list_benches",
    "load_machine",
    "part_of",
    "read_records",
    "reduce_from_tp_region",
    "run",
    "run_kernel",
    "scatter_to_tp_region",
    "sweep",
    "tile_grid",
]

_HOMES = {
    "DPPolicy": ("kernbench.host.memory.placement", "DPPolicy"),
    **{
        name: ("kernbench.host.tensor_parallel.layers", name)
        for name in ("ColumnParallelLinear", "RowParallelLinear", "VocabParallelEmbedding")
    },
    **{
        name: ("kernbench.host.tensor_parallel.regions", name)
        for name in ("copy_to_tp_region", "gather_from_tp_region", "reduce_from_tp_region", "scatter_to_tp_region")
    },
    **{
        name: ("kernbench.errors", name)
        for name in (
            "AddressError",
            "DeadlockError",
            "InputError",
            "KernBenchError",
            "KernelError",
            "OutOfMemoryError",
            "RunError",
            "UnreachableError",
        )
    },
    "RunResult": ("kernbench.runs.result", "RunResult"),
    "TLContext": ("kernbench.tl.context", "TLContext"),
    "bench": ("kernbench.runs.bench", "bench"),
    "list_benches": ("kernbench.runs.bench", "list_benches"),
    "OpRecord": ("kernbench.oplog.record", "OpRecord"),
    "load_machine": ("kernbench.machine", "load_machine"),
    "part_of": ("kernbench.host.memory.placement", "part_of"),
    "tile_grid": ("kernbench.host.memory.placement", "tile_grid"),
    "read_records": ("kernbench.oplog.record", "read_records"),
    "run": ("kernbench.runs.run", "run_bench"),
    "run_kernel": ("kernbench.tl.current_context", "run_kernel"),
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
