"""Parts of an `ascend` machine: cores, control processors, the memories behind them, and the constants of the runtime.

An AIC multiplies matrices, an AIV works on vectors. Rates in bytes or operations a cycle stay as they are published; times
are amounts of the cycle of a core.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from kernbench.parts.derived import time_of, unit_of
from kernbench.parts.memory import MIB
from kernbench.parts.part import Delaying, Part, Section
from kernbench.parts.prices import AicPrices, AivPrices, CrossingPrices, MemoryPrices, PassPrices, Prices, Silicon
from kernbench.schema.fields import Bytes, BytesPerCycle, Count, Cycles, Gbs, Ghz, MessageBytes, Ns

MOST_CHANNELS = 1024


class Aic(Part):
    """A cube core. Operands go from L1 to L0A and L0B, products out of L0C. `read_gbs` and `write_gbs` are its link."""

    kind: ClassVar[str] = "aic"
    energy: AicPrices = AicPrices()
    silicon: Silicon = Silicon()
    ports: ClassVar[tuple[str, ...]] = ("cycle_fs", "read_gbs", "write_gbs")
    clock_ghz: Ghz = Field(description="clock of the core; its cycles are of this clock")
    read_gbs: Gbs = Field(description="bandwidth of its link from memory")
    write_gbs: Gbs = Field(description="bandwidth of its link to memory")
    cube_side: Count = Field(description="side of the cube of multiply-adds of f16 in a cycle")
    l1_bytes: Bytes = Field(description="size of L1")
    l0a_bytes: Bytes = Field(description="size of L0A, for the left operand")
    l0b_bytes: Bytes = Field(description="size of L0B, for the right operand")
    l0c_bytes: Bytes = Field(description="size of L0C, for the product")
    l0a_bytes_cycle: BytesPerCycle = Field(description="rate from L1 to L0A")
    l0b_bytes_cycle: BytesPerCycle = Field(description="rate from L1 to L0B")
    l0c_bytes_cycle: BytesPerCycle = Field(description="rate out of L0C")
    job_cycles: Cycles = Field(description="cycles that each job of an engine takes at least")
    cycle_fs = unit_of("clock_ghz")


class Aiv(Part):
    """A vector core, which works in its unified buffer (UB)."""

    kind: ClassVar[str] = "aiv"
    energy: AivPrices = AivPrices()
    silicon: Silicon = Silicon()
    ports: ClassVar[tuple[str, ...]] = ("cycle_fs", "read_gbs", "write_gbs")
    clock_ghz: Ghz = Field(description="clock of the core; its cycles are of this clock")
    read_gbs: Gbs = Field(description="bandwidth of its link from memory")
    write_gbs: Gbs = Field(description="bandwidth of its link to memory")
    ub_bytes: Bytes = Field(description="size of the unified buffer")
    vector_bytes_cycle: BytesPerCycle = Field(description="rate of the vector unit")
    job_cycles: Cycles = Field(description="cycles that each job of an engine takes at least")
    cycle_fs = unit_of("clock_ghz")


class Aicpu(Part):
    """A control processor, and its registers in the cores: a load, a store, and how long what is written takes to be seen."""

    kind: ClassVar[str] = "aicpu"
    energy: Prices = Prices()
    silicon: Silicon = Silicon()
    ports: ClassVar[tuple[str, ...]] = ("load_fs", "store_fs", "doorbell_fs", "cond_fs")
    load_ns: Ns = Field(description="time of a load of a core's register")
    store_ns: Ns = Field(description="time of a store to a core's register")
    doorbell_ns: Ns = Field(description="time from a store to a doorbell until the core sees it")
    cond_ns: Ns = Field(description="time from the end of a core's task until COND shows it")
    load_fs = time_of("load_ns")
    store_fs = time_of("store_ns")
    doorbell_fs = time_of("doorbell_ns")
    cond_fs = time_of("cond_ns")


class GlobalMemory(Delaying):
    """A global memory: `channels` channels of `channel_gbs`, served in bursts of `burst_bytes`."""

    kind: ClassVar[str] = "global_memory"
    energy: MemoryPrices = MemoryPrices()
    silicon: Silicon = Silicon()
    ports: ClassVar[tuple[str, ...]] = ("overhead_fs", "channel_gbs", "channels", "burst_bytes", "bytes")
    channel_gbs: Gbs = Field(description="bandwidth of a channel")
    channels: Annotated[Count, Field(le=MOST_CHANNELS)] = Field(description="channels of the memory")
    burst_bytes: MessageBytes = Field(description="bytes that a channel serves at once")
    bytes: Bytes = Field(description="size of the memory")

    def area_scale(self) -> tuple[float, str]:
        """MiB of a memory on the die; GB/s of one beside it."""
        return (float(self.channels), "channel_gbs") if self.memory_bytes() else (self.bytes / MIB, "")

    def memory_bytes(self) -> int:
        """Its size if it is bought as memory."""
        return self.bytes if self.silicon.bought == "memory" else 0


class NpuNoc(Part):
    """The network of the chip, without a time of its own."""

    kind: ClassVar[str] = "npu_noc"
    energy: PassPrices = PassPrices()
    silicon: Silicon = Silicon()


class NpuHost(Delaying):
    """The host with its link; `run_ns` and `task_ns` are what a run and each task of a graph built there take."""

    kind: ClassVar[str] = "npu_host"
    energy: CrossingPrices = CrossingPrices()
    silicon: Silicon = Silicon()
    ports: ClassVar[tuple[str, ...]] = ("overhead_fs", "gbs", "run_fs", "task_fs")
    gbs: Gbs = Field(description="bandwidth of its link, each way")
    run_ns: Ns = Field(description="time of a run of a graph that is built on the host")
    task_ns: Ns = Field(description="time of each task of a graph that is built on the host")
    run_fs = time_of("run_ns")
    task_fs = time_of("task_ns")


class PtoLimits(Section):
    """Sizes and limits of the runtime that have no unit of time."""

    task_window: Count = Field(description="slots of the ring of tasks; a power of two")
    heap_bytes: Bytes = Field(description="size of the ring of output buffers")
    dep_pool: Count = Field(description="entries of the pool of dependency lists")
    tensormap_pool: Count = Field(description="entries of the map from regions to producers")
    tensormap_buckets: Count = Field(description="hash buckets of the map from regions to producers; a power of two")
    ready_shards: Count = Field(description="shards of the ready queue of each shape of task")
    align_bytes: Bytes = Field(description="alignment of buffers in the heap; a power of two")
    packed_align_bytes: Bytes = Field(
        description="alignment of the outputs of a task within its buffer; a power of two"
    )
    cleanup_interval: Count = Field(description="tasks retired between two clean-ups of the map")
    notify_spins: Count = Field(description="spins of a wait between two warnings")
    deadlock_spins: Count = Field(description="spins of a wait without progress that end a run")
    tensor_wait_spins: Count = Field(description="spins of a wait for the contents of a tensor that end a run")
    scheduler_timeout_spins: Count = Field(description="spins without a block dispatched or ended that end a run")
    most_inputs: Count = Field(description="most inputs of a task")
    most_outputs: Count = Field(description="most outputs of a task")
    most_inouts: Count = Field(description="most parameters of a task that are read and written")
    most_scope_depth: Count = Field(description="most scopes inside each other")
    least_task_window: Count = Field(description="least task_window that is accepted")
    least_heap_bytes: Bytes = Field(description="least heap_bytes that is accepted")
    least_dep_pool: Count = Field(description="least dep_pool that is accepted")
    most_static_tasks: Count = Field(description="most tasks of a graph that is built first")
    header_bytes: Bytes = Field(description="size of the header of the shared memory")
    descriptor_bytes: Bytes = Field(description="size of a task's descriptor in the shared memory")
    dep_entry_bytes: Bytes = Field(description="size of an entry of a dependency list")
    flags: Count = Field(description="flags between the cores of a cluster")
    aicpu_threads: Annotated[Count, Field(le=4096)] = Field(
        description="threads of control processors; one of them orchestrates"
    )
    core_slots: Count = Field(description="tasks that a core holds at once")
    replay_core_slots: Count = Field(description="tasks that a core holds at once in a replay of a measured graph")
    replay_ready_shards: Count = Field(
        description="shards of the ready queue of each shape in a replay of a measured graph"
    )


class PtoRuntime(PtoLimits, Part):
    """The runtime of task graphs: its sizes, its limits, and how long each of its steps takes."""

    kind: ClassVar[str] = "pto_runtime"
    ports: ClassVar[tuple[str, ...]] = (
        "sync_fs", "alloc_fs", "copy_fs", "lookup_fs", "chain_fs", "edge_fs", "heap_fs", "insert_fs", "publish_fs",
        "scope_fs", "spin_fs", "lock_fs", "complete_fs", "notify_fs", "retire_fs", "pop_fs", "steal_fs", "payload_fs",
        "push_fs", "scan_fs", "probe_fs", "cluster_fs", "switch_fs", "first_fs", "init_fs", "flag_fs", "build_edge_fs",
        "build_task_fs",
    )  # fmt: skip
    sync_ns: Ns = Field(description="submission: time of a look at what is retired")
    alloc_ns: Ns = Field(description="submission: time to take a slot of the task ring")
    copy_ns: Ns = Field(description="submission: time to copy one parameter")
    lookup_ns: Ns = Field(description="submission: time of a look-up in the map of producers")
    chain_ns: Ns = Field(description="submission: time of a further entry of a chain")
    edge_ns: Ns = Field(description="submission: time to add a dependency")
    heap_ns: Ns = Field(description="submission: time to take a buffer of the heap")
    insert_ns: Ns = Field(description="submission: time to insert an output into the map")
    publish_ns: Ns = Field(description="submission: time to publish the task")
    scope_ns: Ns = Field(description="end of a scope: time for each of its tasks")
    spin_ns: Annotated[Ns, Field(gt=0)] = Field(description="time of one spin of a wait")
    lock_ns: Ns = Field(description="time to take a lock and give it back")
    complete_ns: Ns = Field(description="completion: fixed time of a task, which holds its scheduler")
    notify_ns: Ns = Field(description="completion: time to tell one consumer")
    retire_ns: Ns = Field(description="completion: time to retire one task")
    pop_ns: Ns = Field(description="dispatch: time to take a task from its queue, which holds its scheduler")
    steal_ns: Ns = Field(description="dispatch: time of a look at another thread's shard")
    payload_ns: Ns = Field(
        description="dispatch: time to set up the payload of a block on a core, which holds its scheduler"
    )
    push_ns: Ns = Field(description="time to put a task into a ready queue")
    scan_ns: Ns = Field(description="time to scan one published task")
    probe_ns: Annotated[Ns, Field(gt=0)] = Field(description="time of a look at an index in the cache")
    cluster_ns: Ns = Field(description="time to take a cluster or give it back")
    switch_ns: Ns = Field(description="time of a core from one task to the next")
    first_ns: Ns = Field(description="time of a core to start its first task")
    init_ns: Ns = Field(description="time of a step of the start-up or the shut-down")
    flag_ns: Ns = Field(description="time of a flag between the cores of a cluster")
    build_task_ns: Ns = Field(description="time to build a task of a graph without look-ups")
    build_edge_ns: Ns = Field(description="time to build an edge of a graph without look-ups")
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
