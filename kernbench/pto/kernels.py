"""Kernels: functions of arrays with a cost, and the rows of ops by which a core runs them.

A cost is a list of operations, a fixed time in ns, or a distribution of times with a seed. Operations follow each other, but
loads that stand together are issued together. Loads and stores are transfers over the machine's network: of L2 for buffers
of the runtime's heap, of HBM for all else.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil
from statistics import NormalDist
from sys import float_info
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.errors import InputError, shorten
from kernbench.machine.families.ascend.places import CUBE, AscendPlaces, CorePlace
from kernbench.machine.intents import Intent, RouteKind
from kernbench.pto.declarations import check_keys, check_whole
from kernbench.pto.tasks.memory import in_heap
from kernbench.pto.tasks.tensors import ParamKind, Tensor
from kernbench.schema.guards import is_list, is_mapping, is_number

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program
    from kernbench.program.thread import Thread
    from kernbench.pto.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Transfer:
    """A tensor between global memory and the core, or one of the `parts` that blocks share.

    Errors: InputError for what is no tensor, or no part.
    """

    tensor: Tensor
    part: int = 0
    parts: int = 1

    def __post_init__(self) -> None:
        what = type(self).__name__
        if not isinstance(self.tensor, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"{what}: got {shorten(repr(self.tensor))}, expected a tensor among the parameters")
        if check_whole(self.part, f"{what}: part", 0) >= check_whole(self.parts, f"{what}: parts", 1):
            raise InputError(f"{what}: got part {self.part} of {self.parts}; parts are counted from 0")

    @property
    def _start(self) -> int:
        return min(self.part * ceil(self.tensor.nbytes / self.parts), self.tensor.nbytes)

    @property
    def address(self) -> int:
        """The address of the first byte."""
        return self.tensor.address + self._start

    @property
    def nbytes(self) -> int:
        """How many bytes; the last parts may have fewer, down to none."""
        return min(ceil(self.tensor.nbytes / self.parts), self.tensor.nbytes - self._start)


class Load(Transfer):
    """Bytes from global memory into the core."""

    __slots__ = ()


class Store(Transfer):
    """Bytes from the core to global memory."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class MatMul:
    """A product of (m, k) and (k, n) of elements of `itemsize` bytes, on an AIC. Errors: InputError for sizes that are none."""

    m: int
    k: int
    n: int
    itemsize: int = 2

    def __post_init__(self) -> None:
        _check_amounts(self, "m", "k", "n")
        if not self.itemsize > 0:
            raise InputError(f"MatMul: itemsize: got {self.itemsize!r}, expected the bytes of an element")


@dataclass(frozen=True, slots=True)
class Vector:
    """An element-wise operation on `nbytes`, done `passes` times, on an AIV. Errors: InputError for amounts that are none."""

    nbytes: int
    passes: int = 1

    def __post_init__(self) -> None:
        _check_amounts(self, "nbytes", "passes")


@dataclass(frozen=True, slots=True)
class Normal:
    """Times (ns) that are distributed normally, but never below a tenth of the mean; each task's own follows from the seed.

    Errors: InputError for times that are none.
    """

    mean_ns: float
    deviation_ns: float
    seed: int = 0

    def __post_init__(self) -> None:
        _check_amounts(self, "mean_ns", "deviation_ns")
        check_whole(self.seed, "Normal: seed", 0)

    def draw_ns(self, task: int, block: int) -> float:
        """The time of a block of a task."""
        share = _random_share(self.seed, task, block)
        return max(NormalDist(self.mean_ns, self.deviation_ns or 1e-9).inv_cdf(share), self.mean_ns / 10)


def _check_amounts(what: object, *names: str) -> None:
    for name in names:
        if not _is_amount(value := getattr(what, name)):
            raise InputError(
                f"{type(what).__name__}: {name}: got {shorten(repr(value))}, expected a finite number of 0 or more"
            )


def _is_amount(value: object) -> bool:
    return is_number(value) and bool(0 <= value <= float_info.max)  # whole numbers may be larger than any float


Operation = Load | Store | MatMul | Vector
Cost = float | Normal | Sequence[Operation]


def _check_cost(cost: Any) -> None:
    """Errors: InputError for a cost that is none."""
    if isinstance(cost, Normal) or _is_amount(cost):
        return
    if not isinstance(cost, list | tuple) or not all(isinstance(each, Operation) for each in cost):  # pyright: ignore[reportUnknownVariableType]
        raise InputError(
            f"cost: got {shorten(repr(cost))}, expected a finite time of 0 ns or more, a Normal, or a list of Load, Store, "  # pyright: ignore[reportUnknownArgumentType]
            "MatMul and Vector"
        )


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel: its function of arrays and numbers, and its cost, which may follow from the parameters of a task.

    Errors: InputError for a cost that is none.
    """

    id: int
    name: str
    core_type: str  # "aic", "aiv" or "mix"
    function: Callable[..., object] | None = None
    cost: Cost | Callable[..., Cost] | None = None
    cube: Callable[..., object] | None = None  # of "mix": the functions of cores that run coupled
    vector: Callable[..., object] | None = None

    def __post_init__(self) -> None:
        if self.cost is not None and not callable(self.cost):
            with _told_of(f"kernel {self.name!r}"):
                _check_cost(self.cost)

    def cost_of(self, task: Task, block: int) -> Cost:
        """The cost of a block; without one it is to load what the task reads, to work on what that writes once, and to store
        it, of which each block does its part."""
        if callable(self.cost):
            cost = self.cost(*[p.value if p.tensor is None else p.tensor for p in task.params], *task.place(block))
            _check_cost(cost)
            return cost
        if self.cost is not None:
            return self.cost
        tensors = [(p.kind, p.tensor) for p in task.params if p.tensor is not None]
        reads = [Load(tensor, block, task.blocks) for kind, tensor in tensors if kind != ParamKind.OUTPUT]
        stores = [Store(tensor, block, task.blocks) for kind, tensor in tensors if kind != ParamKind.INPUT]
        work = [Vector(store.nbytes) for store in stores] if self.core_type != CUBE else []
        return [*reads, *work, *stores]


def _random_share(seed: int, *numbers: int) -> float:
    """A number between 0 and 1 that follows from a seed and a place (the mixing steps of SplitMix64)."""
    state = seed
    for number in numbers:
        state = (state + (number + 1) * 0x9E3779B97F4A7C15) & (2**64 - 1)
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
        state ^= state >> 31
    return (state + 1) / (2**64 + 1)


_CORES = {"aic": ("function", "cost"), "aiv": ("function", "cost"), "mix": ("cube", "vector")}
_KEYS = ("func_id", "name", "core_type", "source")


def read_kernels(declared: Sequence[Mapping[str, Any]], where: str) -> dict[int, Kernel]:
    """The kernels of a bench by func_id. Errors: InputError for a declaration that is none."""
    if not is_list(declared) or not all(is_mapping(entry) for entry in declared):
        raise InputError(f"{where}: KERNELS is no list of mappings; docs/pto.md shows one")
    found: dict[int, Kernel] = {}
    for entry in declared:
        kernel = _read_kernel(entry, where)
        if kernel.id in found:
            raise InputError(f"{where}: two kernels have func_id {kernel.id}; give each its own")
        found[kernel.id] = kernel
    return found


def _read_kernel(entry: Mapping[str, Any], file: str) -> Kernel:
    missing = {"func_id", "name", "core_type"} - entry.keys()
    if missing:
        raise InputError(
            f"{file}: a kernel of KERNELS lacks {', '.join(sorted(missing))}; give func_id, name, core_type"
        )
    number = check_whole(entry["func_id"], f"{file}: a kernel of KERNELS: func_id", 0)
    name, core_type = entry["name"], entry["core_type"]
    if not isinstance(name, str) or not name or not name.isprintable():
        raise InputError(f"{file}: kernel {number}: got name {shorten(repr(name))}, expected a text of one line")
    where = f"{file}: kernel {name!r}"
    if not isinstance(core_type, str) or core_type not in _CORES:
        raise InputError(f"{where}: got core_type {shorten(repr(core_type))}, expected aic, aiv or mix")
    own = _CORES[core_type]
    check_keys(entry, (*_KEYS, *own), where)
    if core_type == "mix" and not set(own) <= entry.keys():
        raise InputError(f"{where} is for cube and vector cores; give a function for each")
    for key in own:
        value = entry.get(key)
        if key != "cost" and value is not None and not callable(value):
            raise InputError(f"{where}: {key}: got {shorten(repr(value))}, expected a function")
    with _told_of(file):
        return Kernel(number, name, core_type, **{key: entry.get(key) for key in own})


@contextmanager
def _told_of(where: str) -> Generator[None]:
    """Let an InputError say where it is."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


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
        if task.block_ns:
            cost = task.block_ns[block]
        else:
            with _told_of(f"kernel {kernel.name!r}, task {task.id}"):
                cost = kernel.cost_of(task, block)
        if isinstance(cost, Normal):
            cost = cost.draw_ns(task.id, block)
        if isinstance(cost, int | float | np.number):
            return self._busy(thread, core.server, done, ("ns", float(cost) / self.speed), tag)
        with _told_of(f"kernel {kernel.name!r}, task {task.id}"):
            return self._operations(thread, core, done, cost, tag)

    def _operations(self, thread: Thread, core: CorePlace, done: int, cost: Sequence[Operation], tag: int) -> int:
        least_fs = 0
        for kind, group in groupby(cost, type):
            if issubclass(kind, Transfer):
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
        parts = [operation for operation in operations if operation.nbytes]
        for part in parts:
            route, stripe = find_route(machine, core, part.address, write=write)
            thread.move(route, part.nbytes, stripe=stripe, done=done, hold=engine, tag=tag)
        if parts:
            thread.wait(done, len(parts), take=len(parts))

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
