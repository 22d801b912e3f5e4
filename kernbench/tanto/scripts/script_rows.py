"""From scripts to the rows of threads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.engine.turns import acts
from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernbench.tanto.timing.math_lowering import lower_math
from kernbench.tanto.timing.row_arrays import delay_kinds, find_lines, place_rows
from kernbench.tanto.timing.row_buffer import NO_ROW

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.scripts.dataflow_script import DataflowScript
    from kernbench.tanto.scripts.math_script import MathScript

_CODE, _FIRST, _THIRD = 1, 2, 4  # columns of a row: its opcode, its first operand and its third


def give_dataflow_rows(script: DataflowScript, met: np.ndarray) -> None:
    """Give the thread of a reader or writer its rows; int64[act] has the changes of semaphores that it waits for."""
    log = script.take_entries()
    log[script.meetings, 3] = met[script.act_rows[:, acts.ACT] == acts.MEET]
    operations, lines, form, values = log.T
    cycles, forms = _form_rows(script)
    costs, thread = script.lowering.costs, script.rows.buffer.thread
    is_busy, delays, delay = delay_kinds(operations, cycles[form], costs)
    code, used = forms[:, _CODE], np.bincount(form, minlength=len(forms)) > 0
    fixed = used & (code != Op.WAIT) & (code != NO_ROW)  # rows that are the same in all entries
    waits = (code[form] == Op.WAIT) & (values > 0)
    waiting = forms[form[waits]]
    waiting[:, _THIRD] = values[waits]
    rows = np.concatenate([delays, forms[fixed], waiting])
    number = (len(delays) - 1 + np.cumsum(fixed))[form]
    number[waits] = np.arange(len(rows) - len(waiting), len(rows))
    which, ends = place_rows([(is_busy, delay), (waits | fixed[form], number)])
    thread.extend_encoded(rows, which)
    thread.sources = find_lines(lines, ends, script.kernel.unit.file, costs.program)


def _form_rows(script: DataflowScript) -> tuple[np.ndarray, np.ndarray]:
    """float64[form] cycles, int64[form, 1 + ROW_WIDTH] rows; those that wait have no value yet, and some are none."""
    rows = np.zeros((len(script.forms), 1 + ROW_WIDTH), np.int64)
    for row, (_, tag, code, operands) in zip(rows, script.forms, strict=True):
        row[: 2 + len(operands)] = tag, code, *operands
    return np.array([cycles for cycles, *_ in script.forms]), rows


def give_math_rows(script: MathScript, kernels: Iterable[RunningKernel]) -> None:
    """Give the threads of all math kernels that a script is of their rows."""
    threads = [(unique_rows(made.rows), made.sources) for made in lower_math(script.rows, script.take_entries())]
    for kernel in kernels:
        counters, servers = _others(script, kernel)
        for thread, (distinct, sources) in zip(kernel.compute.threads, threads, strict=True):
            rows = distinct.rows.copy()
            code = rows[:, _CODE]
            on_counter = (code == Op.WAIT) | (code == Op.ADD)
            jobs = code == Op.EXEC
            rows[on_counter, _FIRST] = counters[rows[on_counter, _FIRST]]
            rows[jobs, _FIRST] = servers[rows[jobs, _FIRST]]
            rows[jobs, _THIRD] = counters[rows[jobs, _THIRD]]
            thread.extend_encoded(rows, distinct.which)
            thread.sources = sources


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
