"""The orchestration API, with the names of the runtime's header. Orchestration functions need nothing else of it.

`rt` is the runtime that the orchestration function is given. Errors of arguments are InvalidArgsError, fatal code 5.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.dtypes import numpy_dtype
from kernbench.errors import shorten
from kernbench.pto.runtime.fatal import InvalidArgsError
from kernbench.pto.runtime.orchestrator import Backend
from kernbench.pto.tasks.arguments import check_whole
from kernbench.pto.tasks.task import (
    MOST_BLOCKS,
    PTO2_WORKER_ACCELERATOR,
    PTO2_WORKER_AI_CPU,
    PTO2_WORKER_CUBE,
    PTO2_WORKER_VECTOR,
    UNPINNED,
    Task,
)
from kernbench.pto.tasks.tensors import (
    Param,
    Tensor,
    make_inout_param,
    make_input_param,
    make_output_param,
    make_pipe_in_param,
    make_pipe_out_param,
    make_scalar_param,
    make_tensor,
    make_tensor_external,
    whole_numbers,
)

if TYPE_CHECKING:
    from kernbench.pto.runtime.orchestrator import Orchestrator

__all__ = [
    "PTO2_SCOPE",
    "PTO2_WORKER_ACCELERATOR",
    "PTO2_WORKER_AI_CPU",
    "PTO2_WORKER_CUBE",
    "PTO2_WORKER_VECTOR",
    "PTO2OrchestrationConfig",
    "PTO2Runtime",
    "add_successor_conditional",
    "add_task",
    "block_incore",
    "device_malloc",
    "make_inout_param",
    "make_input_param",
    "make_output_param",
    "make_pipe_in_param",
    "make_pipe_out_param",
    "make_scalar_param",
    "make_tensor",
    "make_tensor_external",
    "pto2_rt_allocate_cluster",
    "pto2_rt_free_cluster",
    "pto2_rt_get_tensor_data",
    "pto2_rt_init_tensor_pool",
    "pto2_rt_orchestration_done",
    "pto2_rt_report_fatal",
    "pto2_rt_submit_task",
    "pto2_rt_submit_task_clustered",
    "pto2_rt_submit_task_spmd",
    "pto2_rt_wait_cluster",
    "publish_task",
]


@dataclass(frozen=True, slots=True)
class PTO2OrchestrationConfig:
    """What `aicpu_orchestration_config(args, arg_count)` of a bench returns: how many arguments its entry expects."""

    expected_arg_count: int


class PTO2Runtime:
    """The handle of a run, for orchestration functions."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self.orchestrator = orchestrator
        self.is_done = False

    def read(self, ptr: int, shapes: Sequence[int], dtype: str = "f32") -> np.ndarray:
        """The contents of device memory, which orchestration on the device may look at."""
        kind = numpy_dtype(dtype)
        nbytes = int(np.prod(shapes)) * kind.itemsize
        return self.orchestrator.device.memory.bytes_at(ptr, nbytes).view(kind).reshape(shapes).copy()


def _parameters(params: Sequence[Param], n: int | None) -> Sequence[Param]:
    if not isinstance(params, list | tuple):
        raise InvalidArgsError(f"got {shorten(repr(params))} as parameters, expected a list of them")
    if n is not None and n != len(params):
        raise InvalidArgsError(f"got {len(params)} parameters and n = {n!r}; give as many as n says, or leave n out")
    for at, param in enumerate(params):
        if not isinstance(param, Param):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidArgsError(
                f"parameter {at} is of type {type(param).__name__}; make it with make_input_param or the like"
            )
    return tuple(params)


def pto2_rt_submit_task(
    rt: PTO2Runtime, kernel_id: int, worker_type: int, params: Sequence[Param], n: int | None = None
) -> Task:
    """Submit a task for a core of a type; its dependencies follow from its parameters."""
    return pto2_rt_submit_task_clustered(rt, kernel_id, worker_type, params, n, UNPINNED)


def pto2_rt_submit_task_clustered(
    rt: PTO2Runtime, kernel_id: int, worker_type: int, params: Sequence[Param], n: int | None, cluster_id: int
) -> Task:
    """Submit a task that runs on the cores of an allocated cluster."""
    if rt.is_done:
        raise InvalidArgsError("a task is submitted after pto2_rt_orchestration_done; submit it before")
    return rt.orchestrator.submit(kernel_id, worker_type, _parameters(params, n), cluster=cluster_id)


def pto2_rt_submit_task_spmd(
    rt: PTO2Runtime,
    kernel_id: int,
    worker_type: int,
    params: Sequence[Param],
    block_num: int,
    *,
    require_sync_start: bool = False,
) -> Task:
    """Submit one task of `block_num` blocks; its function gets block_num and the block's number behind the parameters.

    With `require_sync_start` all blocks start together: FatalError, fatal code 7, for more of them than there are cores.
    """
    if rt.is_done:
        raise InvalidArgsError("a task is submitted after pto2_rt_orchestration_done; submit it before")
    blocks = check_whole(block_num, "block_num", 1, MOST_BLOCKS)
    return rt.orchestrator.submit(
        kernel_id, worker_type, _parameters(params, None), block_num=blocks, starts_together=require_sync_start
    )


@contextmanager
def PTO2_SCOPE(rt: PTO2Runtime) -> Generator[None]:
    """A scope: the buffers of its tasks live until it ends, at least."""
    rt.orchestrator.begin_scope()
    yield
    rt.orchestrator.end_scope()


def pto2_rt_orchestration_done(rt: PTO2Runtime) -> None:
    """Say that no task will follow. The end of the orchestration function says so too."""
    rt.is_done = True


def pto2_rt_init_tensor_pool(rt: PTO2Runtime) -> None:
    """Make `make_tensor` usable; here it always is."""
    if rt.is_done:
        raise InvalidArgsError("the tensor pool is initialised after pto2_rt_orchestration_done; do it first")


def pto2_rt_allocate_cluster(rt: PTO2Runtime) -> int:
    """A free cluster; waits for one."""
    return rt.orchestrator.allocate_cluster()


def pto2_rt_free_cluster(rt: PTO2Runtime, cluster_id: int) -> None:
    """Give a cluster back. All its tasks must be complete; the end of its scope waits for them, this does not."""
    rt.orchestrator.free_cluster(cluster_id)


def pto2_rt_wait_cluster(rt: PTO2Runtime, cluster_id: int) -> None:
    """Wait until the tasks of a cluster are complete."""
    rt.orchestrator.wait_cluster(cluster_id)


def pto2_rt_get_tensor_data(rt: PTO2Runtime, tensor: Tensor, indices: Sequence[int] | None = None) -> np.ndarray:
    """The contents of a tensor, or one element of it, as soon as the tasks that write it are complete.

    Errors: InvalidArgsError for a tensor without memory or indices outside of it; FatalError, fatal code 8, after too long a
    wait.
    """
    if not isinstance(tensor, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArgsError(f"got {shorten(repr(tensor))}, expected a tensor to read")
    rt.orchestrator.wait_tensor(tensor)
    found = tensor.array(rt.orchestrator.device.bytes_of(tensor.buffer))
    if indices is None:
        return found.copy()
    numbers = whole_numbers(indices)
    if len(numbers) != found.ndim or not all(0 <= at < n for at, n in zip(numbers, found.shape, strict=True)):
        raise InvalidArgsError(f"element {indices!r} is not inside a tensor of shape {found.shape}")
    return found[numbers]


def pto2_rt_report_fatal(rt: PTO2Runtime, text: str) -> None:
    """End the run. Errors: FatalError, always, with fatal code 9."""
    rt.orchestrator.fail(text)


def block_incore(
    rt: PTO2Runtime,
    kernel_id: int,
    worker_type: int,
    params: Sequence[Param],
    block_dim: int,
    cluster_ids: Sequence[int] | None = None,
) -> list[Task]:
    """An SPMD call as `block_dim` tasks: each gets the parameters, then block_dim, then its block_id.

    With `cluster_ids` block i is pinned to the i-th of them.
    """
    blocks = check_whole(block_dim, "block_dim", 1, MOST_BLOCKS)
    if cluster_ids is not None and len(cluster_ids) != blocks:
        raise InvalidArgsError(f"got block_dim {blocks} and clusters {cluster_ids!r}; give one cluster for each block")
    found: list[Task] = []
    for block in range(blocks):
        own = [*params, make_scalar_param(blocks), make_scalar_param(block)]
        cluster = UNPINNED if cluster_ids is None else cluster_ids[block]
        found.append(pto2_rt_submit_task_clustered(rt, kernel_id, worker_type, own, None, cluster))
    return found


# The API of the back end that builds on an AICPU: tasks and their edges, said one by one


def _builder(rt: PTO2Runtime) -> Orchestrator:
    if rt.orchestrator.backend == Backend.RINGS:
        raise InvalidArgsError(
            f"{Backend.RINGS.value} has no tasks without parameters' dependencies; use pto2_rt_submit_task, or another runtime"
        )
    return rt.orchestrator


def device_malloc(rt: PTO2Runtime, nbytes: int) -> int:
    """Device memory; returns its address."""
    return _builder(rt).device.memory.allocate(check_whole(nbytes, "device_malloc: bytes", 1))


def add_task(rt: PTO2Runtime, kernel_id: int, worker_type: int, params: Sequence[Param]) -> Task:
    """A task that is not published yet, and has no producers."""
    return _builder(rt).add(kernel_id, worker_type, _parameters(params, None))


def add_successor_conditional(rt: PTO2Runtime, producer: Task, consumer: Task) -> None:
    """Let a task wait for another, unless that one is complete already."""
    _builder(rt).add_edge(producer, consumer)


def publish_task(rt: PTO2Runtime, task: Task) -> None:
    """Let schedulers see a task. All its producers have been said."""
    _builder(rt).publish(task)
