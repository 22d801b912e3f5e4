"""Kernels: functions of arrays with a cost, and the rows of ops by which a core runs them.

A cost is a list of operations, a fixed time in ns, or a distribution of times with a seed. Operations follow each other, but
loads that stand together are issued together. Loads and stores are transfers over the machine's network: of L2 for buffers
of the runtime's heap, of HBM for all else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.errors import InputError
from kernbench.machine.families.ascend.places import CUBE, AscendPlaces, CorePlace
from kernbench.machine.intents import Intent, RouteKind
from kernbench.pto.memory import in_heap
from kernbench.pto.tensors import ParamKind, Tensor

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program
    from kernbench.program.thread import Thread
    from kernbench.pto.task import Task


@dataclass(frozen=True, slots=True)
class Load:
    """Bytes from global memory into the core."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Store:
    """Bytes from the core to global memory."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class MatMul:
    """A product of (m, k) and (k, n) of elements of `itemsize` bytes, on an AIC."""

    m: int
    k: int
    n: int
    itemsize: int = 2


@dataclass(frozen=True, slots=True)
class Vector:
    """An element-wise operation on `nbytes`, done `passes` times, on an AIV."""

    nbytes: int
    passes: int = 1


@dataclass(frozen=True, slots=True)
class Normal:
    """Times (ns) that are distributed normally, but never below a tenth of the mean; each task's own follows from the seed."""

    mean_ns: float
    deviation_ns: float
    seed: int = 0

    def draw_ns(self, task: int, block: int) -> float:
        """The time of a block of a task."""
        share = _random_share(self.seed, task, block)
        return max(NormalDist(self.mean_ns, self.deviation_ns or 1e-9).inv_cdf(share), self.mean_ns / 10)


Operation = Load | Store | MatMul | Vector
Cost = float | Normal | Sequence[Operation]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel: its function of arrays and numbers, and its cost, which may follow from the parameters of a task."""

    id: int
    name: str
    core_type: str  # "aic", "aiv" or "mix"
    function: Callable[..., object] | None = None
    cost: Cost | Callable[..., Cost] | None = None
    cube: Callable[..., object] | None = None  # of "mix": the functions of cores that run coupled
    vector: Callable[..., object] | None = None

    def cost_of(self, task: Task, block: int) -> Cost:
        """The cost of a block; without one it is to load what it reads, to work on what it writes once, and to store it."""
        if callable(self.cost):
            return self.cost(*[p.value if p.tensor is None else p.tensor for p in task.params], *task.place(block))
        if self.cost is not None:
            return self.cost
        tensors = [(p.kind, p.tensor) for p in task.params if p.tensor is not None]
        reads = [Load(tensor) for kind, tensor in tensors if kind != ParamKind.OUTPUT]
        written = [tensor for kind, tensor in tensors if kind != ParamKind.INPUT]
        work = [Vector(tensor.nbytes) for tensor in written] if self.core_type != CUBE else []
        return [*reads, *work, *map(Store, written)]


def _random_share(seed: int, *numbers: int) -> float:
    """A number between 0 and 1 that follows from a seed and a place (the mixing steps of SplitMix64)."""
    state = seed
    for number in numbers:
        state = (state + (number + 1) * 0x9E3779B97F4A7C15) & (2**64 - 1)
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
        state ^= state >> 31
    return (state + 1) / (2**64 + 1)


def read_kernels(declared: Sequence[Mapping[str, Any]], where: str) -> dict[int, Kernel]:
    """The kernels of a bench by func_id. Errors: InputError for a declaration that is none."""
    found: dict[int, Kernel] = {}
    for entry in declared:
        missing = {"func_id", "name", "core_type"} - entry.keys()
        if missing:
            raise InputError(
                f"{where}: a kernel of KERNELS lacks {', '.join(sorted(missing))}; give func_id, name, core_type"
            )
        if entry["core_type"] not in ("aic", "aiv", "mix"):
            raise InputError(
                f"{where}: kernel {entry['name']!r}: got core_type {entry['core_type']!r}, expected aic, aiv or mix"
            )
        if entry["func_id"] in found:
            raise InputError(f"{where}: two kernels have func_id {entry['func_id']}; give each its own")
        if entry["core_type"] == "mix" and not {"cube", "vector"} <= entry.keys():
            raise InputError(
                f"{where}: kernel {entry['name']!r} is for cube and vector cores; give a function for each"
            )
        optional = {name: entry.get(name) for name in ("function", "cost", "cube", "vector")}
        found[entry["func_id"]] = Kernel(entry["func_id"], entry["name"], entry["core_type"], **optional)
    return found


@dataclass(slots=True)
class KernelRows:
    """Writes the rows of kernels to the threads of cores."""

    program: Program
    speed: float = 1.0  # by which kernels with a time of their own are faster
    durations: dict[tuple[str, float], tuple[int, int]] = field(
        default_factory=dict[tuple[str, float], tuple[int, int]]
    )
    tags: dict[str, int] = field(default_factory=dict[str, int])

    def write(self, thread: Thread, core: CorePlace, done: int, task: Task, block: int) -> int:
        """Append the rows of a block; `done` is the core's counter of what has ended. Returns the time (fs) that they take
        at least, which is all but that of transfers."""
        kernel = task.kernel
        tag = self.tags.setdefault(kernel.name, self.program.tag(kernel.name, "kernel"))
        cost = task.block_ns[block] if task.block_ns else kernel.cost_of(task, block)
        if isinstance(cost, Normal):
            cost = cost.draw_ns(task.id, block)
        if isinstance(cost, int | float | np.number):
            return self._busy(thread, core.server, done, ("ns", float(cost) / self.speed), tag)
        least_fs = 0
        for kind, group in groupby(cost, type):
            if kind in (Load, Store):
                self._transfer(thread, core, done, list(group), tag, write=kind is Store)
            else:
                least_fs += sum(self.compute(thread, core, done, operation, tag) for operation in group)
        return least_fs

    def _busy(self, thread: Thread, server: int, done: int, term: tuple[str, float], tag: int) -> int:
        duration, fs = self.duration(term)
        thread.exec(server, duration, done, tag)
        thread.wait(done, 1, take=1)
        return fs

    def _transfer(
        self, thread: Thread, core: CorePlace, done: int, operations: list[Any], tag: int, *, write: bool
    ) -> None:
        machine, engine = self.program.machine, core.engines["out" if write else "in"]
        for operation in operations:
            tensor: Tensor = operation.tensor
            route, stripe = find_route(machine, core, tensor.address, write=write)
            thread.move(route, tensor.nbytes, stripe=stripe, done=done, hold=engine, tag=tag)
        thread.wait(done, len(operations), take=len(operations))

    def compute(self, thread: Thread, core: CorePlace, done: int, operation: Any, tag: int) -> int:
        """Append the rows of a product or a vector operation; returns its time (fs). Errors: InputError on a core of the
        other type."""
        figures = self.program.machine.figures
        if isinstance(operation, MatMul) and core.type == CUBE:
            steps = _matmul_cycles(figures, operation)
            return sum(
                self._busy(thread, core.engines[engine], done, ("aic.cycle", cycles), tag) for engine, cycles in steps
            )
        if isinstance(operation, Vector) and core.type != CUBE:
            each = ceil(operation.nbytes / figures["aiv.vector_bytes_cycle"]) + figures["aiv.job_cycles"]
            return self._busy(thread, core.engines["vector"], done, ("aiv.cycle", operation.passes * each), tag)
        raise InputError(
            f"{type(operation).__name__} is no operation of an {core.type} core; see docs/pto.md for costs"
        )

    def duration(self, term: tuple[str, float]) -> tuple[int, int]:
        """The id of a duration of one term, and its time (fs)."""
        found = self.durations.get(term)
        if found is None:
            number = self.program.duration(term)
            found = self.durations[term] = number, int(self.program.duration_fs()[number])
        return found


def _matmul_cycles(figures: Mapping[str, float], op: MatMul) -> list[tuple[str, float]]:
    """Engine and cycles of the steps of a product: operands to L0, the products, and the result out of L0C."""
    side, job = figures["aic.cube_side"], figures["aic.job_cycles"]
    deep = max(side * 2 / op.itemsize, 1)  # elements of another size change how deep a step is
    steps = ceil(op.m / side) * ceil(op.k / deep) * ceil(op.n / side)
    a = ceil(op.m * op.k * op.itemsize / figures["aic.l0a_bytes_cycle"])
    b = ceil(op.k * op.n * op.itemsize / figures["aic.l0b_bytes_cycle"])
    out = ceil(op.m * op.n * 4 / figures["aic.l0c_bytes_cycle"])
    return [("l1", a + b + job), ("cube", steps + job), ("out", out + job)]


def find_route(machine: Machine, core: CorePlace, address: int, *, write: bool) -> tuple[int, int]:
    """The route between a core and the memory of an address, and the first channel there."""
    places = machine.places
    assert isinstance(places, AscendPlaces)
    memory, part = (places.l2, "l2") if in_heap(address) else (places.gm_hbm, "gm_hbm")
    route = machine.routing.route(core.node, memory, Intent.ALL, RouteKind.WRITE if write else RouteKind.READ)
    return route, address // machine.flit_bytes % int(machine.figures[f"{part}.channels"])
