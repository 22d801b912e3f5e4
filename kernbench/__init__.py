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
                            parameters={"M": [64, 128]}, overrides={"hbm.channel_gbs": "16:128:x2"})
    found.table                  # a row for each point
    found.best(3), found.front   # what is best, and what nothing beats
    found.sensitivities          # what matters
    found.plot()                 # plots and reports, as files

Ask a machine, or the disk:

    kernbench.evaluate("gemm", "tiny", settings={"shapes": [(64, 128, 64)]})   # a fixed set of runs
    kernbench.compare("results/before", "results/after")                       # what moved
    kernbench.probe("mesh_8x8", flows=["node[0][0]:node[3][4]:4KiB"])          # traffic without kernels
    kernbench.fit("tiny", "measured.csv", fields=["noc.gbs"]).write("mine.yaml")   # a machine fitted to measured times
    kernbench.diagram("tiny", "cube")                                          # a picture to scale
    kernbench.list_benches()                                                   # what there is to run

Sizes may have units: "4KiB", "1MiB", "16 GB/s". Results show themselves as tables in notebooks.

What the package offers, of which help(kernbench.run) and so on say more:

    run, RunResult, Explanation             one bench on one machine, its figures, and why it took so long
    sweep, SweepResult                      a bench, or traffic, at every point of a grid
    evaluate, EvaluationResult              a fixed set of runs: gemm, attention or allreduce
    compare, Comparison                     two runs, sweeps or evaluations, point by point
    probe                                   traffic over a machine: flows, patterns, or its standard cases
    fit, FitResult                          a machine whose uncertain figures reproduce measured times
    diagram, Diagram                        a picture of a machine
    load_machine                            a machine: its parts, links and memories
    read_records, OpRecord                  the rows of an op log, one by one

and for the file of a bench, which a function with @bench makes one:

    bench, list_benches                     register a function; all that are registered
    TLContext, run_kernel                   the kernel language `tl` on one PE; call a kernel from another
    DPPolicy, part_of, tile_grid            how tensors are split over cubes and PEs, and axes into parts and tiles
    ColumnParallelLinear, RowParallelLinear, VocabParallelEmbedding          layers that are split over ranks
    copy_to_tp_region, gather_from_tp_region, reduce_from_tp_region, scatter_to_tp_region     what ranks exchange

Each error is a KernBenchError, whose text is one sentence:

    InputError                              an input that cannot be
    RunError                                a run that fails; its kinds are AddressError, DeadlockError, KernelError,
                                            LimitError, OutOfMemoryError and UnreachableError

Read on: `kernbench --help` is the same from the command line; docs/ has a page for each subject, docs/library.md for this one.
"""

# The names below are the public surface, twice: as imports for type checkers, and by module for `__getattr__`, which imports a
# name when it is first used, so that `import kernbench` costs nothing. With `__all__`, `help(kernbench)` would print all that
# each class has behind the page above; so there is none, and an import repeats its name to say that it is public.
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernbench.api.compare import compare as compare
    from kernbench.api.diagram import Diagram as Diagram
    from kernbench.api.diagram import diagram as diagram
    from kernbench.api.evaluate import EvaluationResult as EvaluationResult
    from kernbench.api.evaluate import evaluate as evaluate
    from kernbench.api.probe import probe as probe
    from kernbench.api.sweep import SweepResult as SweepResult
    from kernbench.api.sweep import sweep as sweep
    from kernbench.errors import AddressError as AddressError
    from kernbench.errors import DeadlockError as DeadlockError
    from kernbench.errors import InputError as InputError
    from kernbench.errors import KernBenchError as KernBenchError
    from kernbench.errors import KernelError as KernelError
    from kernbench.errors import LimitError as LimitError
    from kernbench.errors import OutOfMemoryError as OutOfMemoryError
    from kernbench.errors import RunError as RunError
    from kernbench.errors import UnreachableError as UnreachableError
    from kernbench.fitting.fit import FitResult as FitResult
    from kernbench.fitting.fit import fit_machine
    from kernbench.frontends.run import run_bench
    from kernbench.host.memory.placement import DPPolicy as DPPolicy
    from kernbench.host.memory.placement import part_of as part_of
    from kernbench.host.memory.placement import tile_grid as tile_grid
    from kernbench.host.tensor_parallel.layers import ColumnParallelLinear as ColumnParallelLinear
    from kernbench.host.tensor_parallel.layers import RowParallelLinear as RowParallelLinear
    from kernbench.host.tensor_parallel.layers import VocabParallelEmbedding as VocabParallelEmbedding
    from kernbench.host.tensor_parallel.regions import copy_to_tp_region as copy_to_tp_region
    from kernbench.host.tensor_parallel.regions import gather_from_tp_region as gather_from_tp_region
    from kernbench.host.tensor_parallel.regions import reduce_from_tp_region as reduce_from_tp_region
    from kernbench.host.tensor_parallel.regions import scatter_to_tp_region as scatter_to_tp_region
    from kernbench.machine import load_machine as load_machine
    from kernbench.oplog.record import OpRecord as OpRecord
    from kernbench.oplog.record import read_records as read_records
    from kernbench.runs.bench import bench as bench
    from kernbench.runs.bench import list_benches as list_benches
    from kernbench.runs.explanation import Explanation as Explanation
    from kernbench.runs.result import RunResult as RunResult
    from kernbench.sweep.results.comparison import Comparison as Comparison
    from kernbench.tl.language.context import TLContext as TLContext
    from kernbench.tl.language.current_context import run_kernel as run_kernel

    fit = fit_machine
    run = run_bench
    __version__: str

_NAMES = {  # by module
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
    "fitting.fit": ("FitResult", "fit"),
    "frontends.run": ("run",),
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
    "sweep": ("sweep",),
    "sweep.results.comparison": ("Comparison",),
    "tl.language.context": ("TLContext",),
    "tl.language.current_context": ("run_kernel",),
}
_ATTRIBUTES = {"fit": "fit_machine", "run": "run_bench"}  # that have another name at home
_HOMES = {name: f"kernbench.{module}" for module, names in _NAMES.items() for name in names}


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
    return sorted({*globals(), *_HOMES})
