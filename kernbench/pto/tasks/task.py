"""Tasks: what the orchestrator submits and the schedulers dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernbench.pto.kernels import Kernel
    from kernbench.pto.results.record import PhaseRow
    from kernbench.pto.tasks.tensors import Param

UNPINNED = -1
MOST_BLOCKS = 1 << 20  # of a task


class Worker(IntEnum):
    """The kinds of workers, with the numbers of the API."""

    CUBE = 0
    VECTOR = 1
    AI_CPU = 2
    ACCELERATOR = 3


PTO2_WORKER_CUBE, PTO2_WORKER_VECTOR = Worker.CUBE, Worker.VECTOR
PTO2_WORKER_AI_CPU, PTO2_WORKER_ACCELERATOR = Worker.AI_CPU, Worker.ACCELERATOR


class Shape(IntEnum):
    """The cores of a cluster that a block of a task takes at once; ready queues are by shape."""

    AIC = 0
    AIV = 1
    AIV2 = 2
    MIX = 3


class State(IntEnum):
    """The states of a task, with the numbers of the schedulers' array."""

    INITIAL = 0
    READY = 1
    COMPLETED = 2
    CONSUMED = 3


class Task:
    """A task. It has `blocks` blocks, which are dispatched one by one and complete it together.

    `fanin_count` is the number of producers, `fanin_refs` how many of them are complete. While `in_scope` it is not consumed,
    so its slot is not given to another task. `users` are the tasks that use its buffers and are not complete; buffers outlive
    them.
    """

    __slots__ = (
        "block_ns", "blocks", "blocks_done", "cluster", "consumers", "fanin_count", "fanin_final", "fanin_refs",
        "first_start_fs", "group", "heap_end", "id", "in_scope", "is_spmd", "kernel", "last_end_fs", "lock_free_fs",
        "next_block", "owners", "params", "published_by", "published_fs", "ready_by", "ready_fs", "shape",
        "starts_together", "state", "users",
    )  # fmt: skip

    def __init__(
        self,
        id: int,
        kernel: Kernel,
        shape: Shape,
        params: Sequence[Param],
        cluster: int = UNPINNED,
    ) -> None:
        self.id = id
        self.kernel = kernel
        self.shape = shape
        self.params = params
        self.cluster = cluster
        self.group = UNPINNED
        self.blocks = 1
        self.block_ns: Sequence[float] = ()  # of each block, if its time is given and not that of the kernel
        self.is_spmd = False  # whether its function is given the number of blocks and its block
        self.starts_together = False
        self.next_block = 0
        self.blocks_done = 0
        self.state = State.INITIAL
        self.owners: list[Task] = []  # of the buffers that it uses
        self.consumers: list[Task] = []
        self.fanin_count = 0
        self.fanin_refs = 0
        self.fanin_final = False
        self.in_scope = False
        self.users = 0
        self.lock_free_fs = 0
        self.heap_end: int | None = None
        self.published_fs = self.ready_fs = 0
        self.published_by: PhaseRow | None = None  # the phases in which it was
        self.ready_by: PhaseRow | None = None
        self.first_start_fs = self.last_end_fs = -1

    @property
    def is_ready(self) -> bool:
        """Whether all producers are complete, and the orchestrator has said how many there are."""
        return self.fanin_final and self.fanin_refs == self.fanin_count

    def place(self, block: int) -> tuple[int, ...]:
        """What the function of an SPMD task gets behind its parameters: the number of blocks, and which one it is."""
        return (self.blocks, block) if self.is_spmd else ()

    def take_lock(self, now_fs: int, hold_fs: int) -> int:
        """Take the lock of its list of consumers; returns the time (fs) when it is given back."""
        start = max(now_fs, self.lock_free_fs)
        self.lock_free_fs = start + hold_fs
        return self.lock_free_fs
