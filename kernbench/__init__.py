"""KernBench: how fast will a kernel run on an accelerator that may not exist yet, and why?

A topology wires models; a bench runs on it; a sweep varies it; results keep what came out.

Run a bench, and ask why it takes so long:

    import kernbench

    result = kernbench.run("matmul-composite", "tiny", parameters={"M": 64}, overrides={"hbm.channel_gbs": 64})
    result.latency_ns            # simulated time; result.bottleneck, result.achieved_tflops and others beside it
    result.explain()             # the critical path, utilisation, queueing, what would make it faster
    result.op_log()              # a polars table with a row for each operation

Vary it, and read the answer:

    found = kernbench.sweep("matmul-composite", topology="tiny", workers=1,
                            parameters={"M": [64, 128], "topology.hbm.channel_gbs": "16:128:x2"})
    found.table                  # a row for each point
    found.best(3), found.front   # what is best, and what nothing beats
    found.sensitivities          # what matters
    found.plot()                 # plots and reports, as files

Ask a machine, or the disk:

    kernbench.evaluate("gemm", "tiny", settings={"shapes": [(64, 128, 64)]})   # a fixed set of runs
    kernbench.compare("results/before", "results/after")                       # what moved
    kernbench.probe("mesh_8x8", flows=["node[0][0]:node[3][4]:4KiB"])          # traffic without kernels
    kernbench.diagram("tiny", "cube")                                          # a picture to scale
    kernbench.list_benches()                                                   # what there is to run

Sizes may have units: "4KiB", "1MiB", "16 GB/s". Results show themselves as tables in notebooks. An input that cannot be is
an InputError, a run that fails a RunError; both are KernBenchErrors, whose text is one sentence. `kernbench --help` is the same
from the command line, and docs/ has a page for each subject.
"""

# The names below are the public surface, twice: as imports for type checkers, and by module for `__getattr__`, which imports a
# name when it is first used, so that `import kernbench` costs nothing.
# ruff: noqa: F401 - ruff cannot read __all__ below
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernbench.api.compare import compare
    from kernbench.api.diagram import Diagram, diagram
    from kernbench.api.evaluate import EvaluationResult, evaluate
    from kernbench.api.probe import probe
    from kernbench.api.sweep import SweepResult, sweep
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
    from kernbench.runs.explanation import Explanation
    from kernbench.runs.result import RunResult
    from kernbench.runs.run import run_bench as run
    from kernbench.sweep.results.comparison import Comparison
    from kernbench.tl.context import TLContext
    from kernbench.tl.current_context import run_kernel

    __version__: str

_NAMES: dict[str, tuple[str, ...]] = {  # by module
    "api.compare": ("compare",),
    "api.diagram": ("Diagram", "diagram"),
    "api.evaluate": ("EvaluationResult", "evaluate"),
    "api.probe": ("probe",),
    "api.sweep": ("SweepResult",),
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
    "runs.explanation": ("Explanation",),
    "runs.result": ("RunResult",),
    "runs.run": ("run",),
    "sweep": ("sweep",),
    "sweep.results.comparison": ("Comparison",),
    "tl.context": ("TLContext",),
    "tl.current_context": ("run_kernel",),
}
_ATTRIBUTES = {"run": "run_bench"}  # that have another name at home
_HOMES = {name: f"kernbench.{module}" for module, names in _NAMES.items() for name in names}
__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll] - it takes the names from the imports


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _read_version()
    if name not in _HOMES:
        raise AttributeError(f"module 'kernbench' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), _ATTRIBUTES.get(name, name))
    return value


def _read_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("kernbench")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0 (not installed)"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
