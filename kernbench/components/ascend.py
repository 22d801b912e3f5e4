"""Parts of an `ascend` machine: cores, control processors, the memories behind them, and the constants of the runtime.

An AIC multiplies matrices, an AIV works on vectors. Rates in bytes or operations a cycle stay as they are published; times
are amounts of the cycle of a core.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from kernbench.components.derived import time_of, unit_of
from kernbench.components.part import Delaying, Part, Section
from kernbench.schema.fields import Bytes, Count, Gbs, Ghz, MessageBytes, Ns

MOST_CHANNELS = 1024


class Aic(Part):
    """A cube core. Operands go from L1 to L0A and L0B, products out of L0C. `read_gbs` and `write_gbs` are its link."""

    kind: ClassVar[str] = "aic"
    ports: ClassVar[tuple[str, ...]] = ("cycle_fs", "read_gbs", "write_gbs")
    clock_ghz: Ghz
    read_gbs: Gbs
    write_gbs: Gbs
    cube_side: Count  # of the cube of f16 multiply-adds in a cycle
    l1_bytes: Bytes
    l0a_bytes: Bytes
    l0b_bytes: Bytes
    l0c_bytes: Bytes
    l0a_bytes_cycle: Count
    l0b_bytes_cycle: Count
    l0c_bytes_cycle: Count
    job_cycles: Count
    cycle_fs = unit_of("clock_ghz")


class Aiv(Part):
    """A vector core, which works in its unified buffer (UB)."""

    kind: ClassVar[str] = "aiv"
    ports: ClassVar[tuple[str, ...]] = ("cycle_fs", "read_gbs", "write_gbs")
    clock_ghz: Ghz
    read_gbs: Gbs
    write_gbs: Gbs
    ub_bytes: Bytes
    vector_bytes_cycle: Count
    job_cycles: Count
    cycle_fs = unit_of("clock_ghz")


class Aicpu(Part):
    """A control processor, and its registers in the cores: a load, a store, and how long what is written takes to be seen."""

    kind: ClassVar[str] = "aicpu"
    ports: ClassVar[tuple[str, ...]] = ("load_fs", "store_fs", "doorbell_fs", "cond_fs")
    load_ns: Ns
    store_ns: Ns
    doorbell_ns: Ns
    cond_ns: Ns
    load_fs = time_of("load_ns")
    store_fs = time_of("store_ns")
    doorbell_fs = time_of("doorbell_ns")
    cond_fs = time_of("cond_ns")


class GlobalMemory(Delaying):
    """A global memory: `channels` channels of `channel_gbs`, served in bursts of `burst_bytes`."""

    kind: ClassVar[str] = "global_memory"
    ports: ClassVar[tuple[str, ...]] = ("overhead_fs", "channel_gbs", "channels", "burst_bytes", "bytes")
    channel_gbs: Gbs
    channels: Annotated[Count, Field(le=MOST_CHANNELS)]
    burst_bytes: MessageBytes
    bytes: Bytes


class NpuHost(Delaying):
    """The host with its link; `run_ns` and `task_ns` are what a run and each task of a graph built there take."""

    kind: ClassVar[str] = "npu_host"
    ports: ClassVar[tuple[str, ...]] = ("overhead_fs", "gbs", "run_fs", "task_fs")
    gbs: Gbs
    run_ns: Ns
    task_ns: Ns
    run_fs = time_of("run_ns")
    task_fs = time_of("task_ns")


class PtoLimits(Section):
    """Sizes and limits of the runtime that have no unit of time."""

    task_window: Count
    heap_bytes: Bytes
    dep_pool: Count
    tensormap_pool: Count
    tensormap_buckets: Count
    ready_shards: Count
    align_bytes: Count
    packed_align_bytes: Count
    cleanup_interval: Count
    notify_spins: Count
    deadlock_spins: Count
    tensor_wait_spins: Count
    most_inputs: Count
    most_outputs: Count
    most_inouts: Count
    most_scope_depth: Count
    least_task_window: Count
    least_heap_bytes: Count
    least_dep_pool: Count
    most_static_tasks: Count
    header_bytes: Count
    descriptor_bytes: Count
    dep_entry_bytes: Count
    aicpu_threads: Count
    core_slots: Count
    replay_core_slots: Count


class PtoRuntime(PtoLimits, Part):
    """The runtime of task graphs: its sizes, its limits, and how long each of its steps takes."""

    kind: ClassVar[str] = "pto_runtime"
    ports: ClassVar[tuple[str, ...]] = (
        "sync_fs", "alloc_fs", "copy_fs", "lookup_fs", "chain_fs", "edge_fs", "heap_fs", "insert_fs", "publish_fs",
        "scope_fs", "spin_fs", "lock_fs", "complete_fs", "notify_fs", "retire_fs", "pop_fs", "steal_fs", "payload_fs",
        "push_fs", "scan_fs", "probe_fs", "cluster_fs", "switch_fs", "first_fs", "init_fs", "flag_fs", "build_edge_fs",
        "build_task_fs",
    )  # fmt: skip
    sync_ns: Ns
    alloc_ns: Ns
    copy_ns: Ns
    lookup_ns: Ns
    chain_ns: Ns
    edge_ns: Ns
    heap_ns: Ns
    insert_ns: Ns
    publish_ns: Ns
    scope_ns: Ns
    spin_ns: Annotated[Ns, Field(gt=0)]
    lock_ns: Ns
    complete_ns: Ns
    notify_ns: Ns
    retire_ns: Ns
    pop_ns: Ns
    steal_ns: Ns
    payload_ns: Ns
    push_ns: Ns
    scan_ns: Ns
    probe_ns: Annotated[Ns, Field(gt=0)]
    cluster_ns: Ns
    switch_ns: Ns
    first_ns: Ns
    init_ns: Ns
    flag_ns: Ns
    build_task_ns: Ns
    build_edge_ns: Ns
    sync_fs = time_of("sync_ns")
    alloc_fs = time_of("alloc_ns")
    copy_fs = time_of("copy_ns")
    lookup_fs = time_of("lookup_ns")
    chain_fs = time_of("chain_ns")
    edge_fs = time_of("edge_ns")
    heap_fs = time_of("heap_ns")
    insert_fs = time_of("insert_ns")
    publish_fs = time_of("publish_ns")
    scope_fs = time_of("scope_ns")
    spin_fs = time_of("spin_ns")
    lock_fs = time_of("lock_ns")
    complete_fs = time_of("complete_ns")
    notify_fs = time_of("notify_ns")
    retire_fs = time_of("retire_ns")
    pop_fs = time_of("pop_ns")
    steal_fs = time_of("steal_ns")
    payload_fs = time_of("payload_ns")
    push_fs = time_of("push_ns")
    scan_fs = time_of("scan_ns")
    probe_fs = time_of("probe_ns")
    cluster_fs = time_of("cluster_ns")
    switch_fs = time_of("switch_ns")
    first_fs = time_of("first_ns")
    init_fs = time_of("init_ns")
    flag_fs = time_of("flag_ns")
    build_task_fs = time_of("build_task_ns")
    build_edge_fs = time_of("build_edge_ns")

    @model_validator(mode="after")
    def _alignments_are_powers(self) -> PtoRuntime:
        for name in ("align_bytes", "packed_align_bytes", "tensormap_buckets"):
            value = getattr(self, name)
            if value & (value - 1):
                raise ValueError(f"{name} is {value}, expected a power of two")
        return self
