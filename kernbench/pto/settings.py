"""The settings of a run: sizes and limits of the runtime, and the time of each of its steps, in femtoseconds.

They are figures of the machine, so any of them can be set as a field of the topology (`pto_runtime.task_window`). The variables
of the environment that the runtime reads win over the sheet, and fields that are set win over these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernbench.errors import InputError, shorten
from kernbench.pto import MACHINE
from kernbench.pto.runtime.fatal import InvalidArgsError
from kernbench.units import parse_count

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

FAMILY, SECTION = "ascend", "pto_runtime"
ENVIRONMENT = {
    "PTO2_RING_TASK_WINDOW": "task_window",
    "PTO2_RING_HEAP": "heap_bytes",
    "PTO2_RING_DEP_POOL": "dep_pool",
    "PTO2_READY_QUEUE_SHARDS": "ready_shards",
}
OF_REPLAYS = ("core_slots", "ready_shards")  # sizes that replays have of their own: with `replay_` before
_UNITS = {"heap_bytes": "B"}


def check_family(machine: Machine) -> None:
    """Check that a machine runs task graphs. Errors: InputError."""
    if machine.family != FAMILY:
        raise InputError(
            f"machine {machine.name} is of family {machine.family!r}; task graphs run on family {FAMILY!r}, "
            f"such as {MACHINE}"
        )


@dataclass(frozen=True, slots=True)
class Times:
    """How long each step takes, in femtoseconds: the ports of `pto_runtime`, `aicpu` and `npu_host` by their names."""

    sync: int
    alloc: int
    copy: int
    lookup: int
    chain: int
    edge: int
    heap: int
    insert: int
    publish: int
    scope: int
    spin: int
    lock: int
    complete: int
    notify: int
    retire: int
    pop: int
    steal: int
    payload: int
    push: int
    scan: int
    probe: int
    cluster: int
    init: int
    build_task: int
    build_edge: int
    load: int
    store: int
    cond: int
    doorbell: int
    run: int
    task: int


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """The sizes and limits of a run; `time` has its times."""

    task_window: int
    heap_bytes: int
    dep_pool: int
    tensormap_pool: int
    tensormap_buckets: int
    ready_shards: int
    align_bytes: int
    packed_align_bytes: int
    cleanup_interval: int
    notify_spins: int
    deadlock_spins: int
    tensor_wait_spins: int
    scheduler_timeout_spins: int
    most_inputs: int
    most_outputs: int
    most_inouts: int
    most_scope_depth: int
    most_static_tasks: int
    header_bytes: int
    descriptor_bytes: int
    dep_entry_bytes: int
    flags: int
    aicpu_threads: int
    core_slots: int
    time: Times

    @classmethod
    def of(cls, machine: Machine, *, replay: bool = False) -> RuntimeSettings:
        """The settings of a machine. Errors: InvalidArgsError for sizes that the runtime refuses, InputError for its family."""
        figures = machine.figures
        check_family(machine)
        sizes = {name: int(figures[f"{SECTION}.{name}"]) for name in cls.__dataclass_fields__ if name != "time"}
        if replay:
            sizes |= {name: int(figures[f"{SECTION}.replay_{name}"]) for name in OF_REPLAYS}
        parts = {"load": "aicpu", "store": "aicpu", "cond": "aicpu", "doorbell": "aicpu", "run": "npu_host"}
        parts["task"] = "npu_host"
        times = {name: round(figures[f"{parts.get(name, SECTION)}.{name}"]) for name in Times.__dataclass_fields__}
        found = cls(**sizes, time=Times(**times))
        found._check(figures)
        return found

    def _check(self, figures: Mapping[str, float]) -> None:
        window = self.task_window
        for name, value in (
            ("task_window", window),
            ("heap_bytes", self.heap_bytes),
            ("dep_pool", self.dep_pool),
        ):
            least = int(figures[f"{SECTION}.least_{name}"])
            if value < least:
                raise InvalidArgsError(f"{name} is {value:,}, expected {least:,} or more")
        if window & (window - 1):
            raise InvalidArgsError(
                f"task_window is {window:,}, expected a power of two; give {1 << (window.bit_length() - 1):,} or "
                f"{1 << window.bit_length():,}"
            )
        if self.aicpu_threads < 2:
            raise InvalidArgsError(
                "aicpu_threads is 1, expected 2 or more: one thread orchestrates, the others schedule"
            )

    @property
    def shared_memory_bytes(self) -> int:
        """The size of the region that orchestrator and schedulers share: header, descriptors, dependency entries."""
        parts = (
            self.header_bytes,
            self.task_window * self.descriptor_bytes,
            (self.dep_pool + 1) * self.dep_entry_bytes,
        )
        return sum(align(part, self.align_bytes) for part in parts)


def align(nbytes: int, to: int) -> int:
    """The least multiple of a power of two that holds some bytes."""
    return (nbytes + to - 1) & ~(to - 1)


def read_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """The topology fields that the variables of the runtime set. Errors: InputError for what is not a number."""
    found: dict[str, object] = {}
    for variable, field in ENVIRONMENT.items():
        if variable not in environment:
            continue
        text = environment[variable]
        try:
            value = parse_count(text, _UNITS.get(field, ""))
        except ValueError:
            raise InputError(f"{variable}={shorten(text)}: got {shorten(text)!r}, expected a whole number") from None
        if value < 1:
            raise InputError(f"{variable}={shorten(text)}: got {value}, expected 1 or more")
        found[f"{SECTION}.{field}"] = value
    return found
