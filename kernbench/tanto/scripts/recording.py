"""The rows of a program without numbers, from scripts of its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernbench.engine.turns import acts, run_in_turn
from kernbench.errors import KernBenchError, LimitError
from kernbench.limits.time_limit import watched_kernel
from kernbench.tanto.scripts.dataflow_script import DataflowScript
from kernbench.tanto.scripts.math_script import MathScript
from kernbench.tanto.scripts.passing import leaves_tiles, may_miss
from kernbench.tanto.scripts.script import ReadsPending, Unscripted
from kernbench.tanto.timing.thread_rows import give_dataflow_rows, give_math_rows

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.cores.storage import Core
    from kernbench.tanto.timing.dataflow_rows import DataflowRows
    from kernbench.tanto.timing.math_rows import MathRows

_RAISED = (KernBenchError, Unscripted, ArithmeticError, IndexError, ValueError, TypeError, RecursionError)
Script = DataflowScript | MathScript


def write_rows(run: GridRun) -> bool:
    """Give all threads of a run their rows without running its kernels in turn; returns whether that can be.

    If not, the threads are as they were. Errors: LimitError.
    """
    if _write_rows(run):
        return True
    for kernel in run.kernels:
        kernel.rows.follow(kernel)
    return False


def _write_rows(run: GridRun) -> bool:
    kernels = run.kernels
    if run.numbers or any(kernel.alone is None for kernel in kernels):
        return False
    try:
        with np.errstate(all="ignore"), watched_kernel():
            scripts = _write_scripts(kernels)
    except LimitError:
        raise
    except _RAISED:  # kernels that run in turn tell which comes first, and where
        return False
    if may_miss(run, scripts) or leaves_tiles(kernels, scripts):
        return False
    met = _meet(run, kernels, scripts)
    if met is None:
        return False
    moving: list[DataflowRows] = []
    shared: dict[MathScript, list[MathRows]] = {}
    for kernel, script, found in zip(kernels, scripts, met, strict=True):
        if isinstance(script, MathScript):
            shared.setdefault(script, []).append(kernel.compute)
        else:
            script.flow.set_values(script.meetings, found[script.act_rows[:, acts.ACT] == acts.MEET])
            moving.append(script.flow)
    give_dataflow_rows(moving)
    for script, own in shared.items():
        give_math_rows(script.rows, own)
    return True


def _write_scripts(kernels: Iterable[RunningKernel]) -> list[Script]:
    """The script of each kernel: one for all math kernels with equal arguments. Errors: as of the kernels; Unscripted."""
    known: dict[tuple[int, str], MathScript] = {}
    found = list[Script]()
    for kernel in kernels:
        assert kernel.alone is not None
        key = id(kernel.unit), kernel.alone.given
        script = known.get(key)
        if script is None:
            script = MathScript(kernel) if kernel.is_math else DataflowScript(kernel)
            try:
                script.write(kernel.alone)
            except ReadsPending:
                script = DataflowScript(kernel, follows_reads=True)
                script.write(kernel.alone)
            if isinstance(script, MathScript):
                known[key] = script
        found.append(script)
    return found


def _meet(run: GridRun, kernels: Sequence[RunningKernel], scripts: Sequence[Script]) -> list[np.ndarray] | None:
    """Of each kernel int64[act] the changes of semaphores that it meets.

    None if the kernels do not come to their ends, or not as their scripts have it.
    """
    numbers, parts = _number_parts(run)
    starts: dict[Script, int] = {}
    tables = list[np.ndarray]()
    rows, objects, act_count, met_count = list[tuple[int, ...]](), list[int](), 0, 0
    for kernel, script in zip(kernels, scripts, strict=True):
        count = len(script.act_rows)
        if script not in starts:
            starts[script] = act_count
            tables.append(script.act_rows)
            act_count += count
        rows.append((starts[script], starts[script] + count, len(objects), met_count, kernel.is_math))
        objects += [numbers[letter, id, core or kernel.core] for letter, id, core in script.objects]
        met_count += count
    met = np.zeros(met_count, np.int64)
    if not run_in_turn(np.array(rows), np.concatenate(tables), np.array(objects, np.int64), parts, met):
        return None
    return [met[at : at + end - first] for first, end, _, at, _ in rows]


def _number_parts(run: GridRun) -> tuple[dict[tuple[str, int, Core], int], np.ndarray]:
    """The number of each part of a pipe or semaphore by letter, id and core, and int64[part, 3]."""
    numbers: dict[tuple[str, int, Core], int] = {}
    first = list[int]()
    for id, pipes in run.pipes.items():
        for core, pipe in pipes.items():
            numbers["p", id, core] = len(first)
            first.append(pipe.tiles)
    for id, semaphores in run.semaphores.items():
        for core, semaphore in semaphores.items():
            numbers["s", id, core] = len(first)
            first.append(semaphore.value)
    parts = np.zeros((len(first), 3), np.int64)
    parts[:, 0] = first
    return numbers, parts
