"""From scripts to the rows of threads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from kernbench.engine.turns import acts
from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernbench.tanto.timing.math_lowering import lower_math
from kernbench.tanto.timing.row_arrays import delay_rows, find_lines, place_rows
from kernbench.tanto.timing.row_buffer import NO_ROW

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.scripts.dataflow_script import DataflowScript
    from kernbench.tanto.scripts.math_script import MathScript

_CODE, _FIRST, _THIRD = 1, 2, 4  # columns of a row: its opcode, its first operand and its third


def give_dataflow_rows(script: DataflowScript, met: np.ndarray) -> None:
    """Give the thread of a reader or writer its rows; int64[act] has the changes of semaphores that it waits for."""
    log = script.entries()
    log[script.meetings, 3] = met[script.act_rows[:, acts.ACT] == acts.MEET]
    forms = list(script.forms)
    cycles = np.array([one[0] for one in forms])
    rows = np.zeros((len(forms), 1 + ROW_WIDTH), np.int64)
    for row, (_, tag, code, operands) in zip(rows, forms, strict=True):
        row[: 2 + len(operands)] = tag, code, *operands
    made = rows[log[:, 2]]
    waits = made[:, _CODE] == Op.WAIT
    made[waits, _THIRD] = log[waits, 3]
    has = (made[:, _CODE] != NO_ROW) & ~(waits & (log[:, 3] <= 0))
    costs, thread = script.lowering.costs, script.rows.buffer.thread
    found, ends = place_rows([delay_rows(log[:, 0], cycles[log[:, 2]], costs), (has, made)])
    thread.extend(found.tobytes())
    thread.sources = find_lines(log[:, 1], ends, script.kernel.unit.file, costs.program)


def give_math_rows(script: MathScript, kernels: Iterable[RunningKernel]) -> None:
    """Give the threads of all math kernels that a script is of their rows."""
    threads = lower_math(script.rows, script.entries())
    for kernel in kernels:
        counters, servers = _others(script, kernel)
        for thread, made in zip(kernel.compute.threads, threads, strict=True):
            rows = made.rows.copy()
            code = rows[:, _CODE]
            on_counter = (code == Op.WAIT) | (code == Op.ADD)
            jobs = code == Op.EXEC
            rows[on_counter, _FIRST] = counters[rows[on_counter, _FIRST]]
            rows[jobs, _FIRST] = servers[rows[jobs, _FIRST]]
            rows[jobs, _THIRD] = counters[rows[jobs, _THIRD]]
            thread.extend(rows.tobytes())
            thread.sources = made.sources


def _others(script: MathScript, kernel: RunningKernel) -> tuple[np.ndarray, np.ndarray]:
    """int64[] the counters and servers of a kernel, by those of the kernel that its script has."""
    counters = np.full(len(script.lowering.program.counter_labels), NONE)
    servers = np.full(len(script.lowering.machine.server_slots), NONE)
    for own, other in zip(script.rows.counters, kernel.compute.counters, strict=True):
        counters[own] = other
    for name, own in script.rows.servers.items():
        servers[own] = kernel.compute.servers[name]
    for letter, id, _ in script.objects:
        parts = script.run.pipes[id] if letter == "p" else {}
        for own, other in zip(parts[script.core].counters, parts[kernel.core].counters, strict=True):
            counters[own] = other
    return counters, servers
