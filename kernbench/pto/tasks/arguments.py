"""Checks of what a task is submitted with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernbench.errors import shorten
from kernbench.pto.runtime.fatal import FatalCode, FatalError, InvalidArgsError
from kernbench.pto.tasks.task import UNPINNED, Shape, Worker
from kernbench.pto.tasks.tensors import Buffer, Param, ParamKind
from kernbench.schema.guards import is_whole

if TYPE_CHECKING:
    from kernbench.pto.runtime.device import Device

_TYPES = {Worker.CUBE: ("aic", Shape.AIC), Worker.VECTOR: ("aiv", Shape.AIV)}


def check_whole(value: object, what: str, least: int = 0, most: int = 1 << 64) -> int:
    """A whole number that the runtime is given. Errors: InvalidArgsError for what is none, or out of its range."""
    if not is_whole(value) or not least <= value <= most:
        upper = f" and {most:,} or less" if most < 1 << 64 else ""
        raise InvalidArgsError(f"{what}: got {shorten(repr(value))}, expected a whole number of {least} or more{upper}")
    return int(value)


def check_task(
    device: Device, name: str, kernel_id: int, worker: int, params: Sequence[Param], group: int = UNPINNED
) -> Shape:
    """The shape of a task; `group` is that of its cluster.

    Errors: InvalidArgsError for a kernel, a worker type or parameters that the runtime refuses.
    """
    settings = device.settings
    if check_whole(kernel_id, f"{name}: kernel_id") not in device.kernels:
        known = ", ".join(str(each) for each in sorted(device.kernels))
        raise InvalidArgsError(f"{name}: no kernel has func_id {kernel_id}; the bench has {known}")
    if check_whole(worker, f"{name}: worker_type") not in _TYPES:
        raise InvalidArgsError(f"{name}: got worker type {worker}, expected PTO2_WORKER_CUBE or PTO2_WORKER_VECTOR")
    kernel, (core_type, shape) = device.kernels[kernel_id], _TYPES[Worker(worker)]
    if kernel.core_type == "mix":
        shape = Shape.MIX
    elif kernel.core_type != core_type:
        raise InvalidArgsError(
            f"{name}: kernel {kernel.name} is for {kernel.core_type} cores, but submitted to {core_type}"
        )
    kinds = [param.kind for param in params]
    for what, most in (
        (ParamKind.INPUT, settings.most_inputs),
        (ParamKind.OUTPUT, settings.most_outputs),
        (ParamKind.INOUT, settings.most_inouts),
    ):
        if kinds.count(what) > most:
            raise InvalidArgsError(f"{name}: got {kinds.count(what)} {what.name} parameters, expected {most} at most")
    for param in params:
        if param.tensor is not None and param.kind != ParamKind.OUTPUT and not param.tensor.buffer.address:
            raise InvalidArgsError(f"{name}: an {param.kind.name} tensor has no memory; a task must write it first")
        if param.tensor is not None and param.tensor.buffer.is_pipe:
            _check_pipe(name, param.tensor.buffer, shape, group)
    return shape


def _check_pipe(name: str, buffer: Buffer, shape: Shape, group: int) -> None:
    """Errors: InvalidArgsError for a pipe tensor of a task that is not of one cluster with the others that use it."""
    if group == UNPINNED:
        raise InvalidArgsError(
            f"{name}: a pipe tensor needs a cluster; submit the task with pto2_rt_submit_task_clustered"
        )
    if buffer.group not in (None, group):
        raise InvalidArgsError(
            f"{name}: a pipe tensor of tasks on another cluster; submit it to the cluster of its writer"
        )
    if shape == Shape.MIX:
        raise InvalidArgsError(f"{name}: a pipe tensor in a mixed kernel, whose cores share a TPipe; use one of these")


def check_together(device: Device, name: str, shape: Shape, blocks: int) -> None:
    """Errors: FatalError for more blocks of a shape that start together than the cores of the run can hold."""
    most = device.most_together(shape)
    if blocks > most:
        raise FatalError(
            FatalCode.SYNC_START,
            f"FATAL: {name}: {blocks} blocks are to start together, but there are {most} places of shape {shape.name}; "
            f"submit {most} blocks at most",
        )
