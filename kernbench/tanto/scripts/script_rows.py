"""From scripts to the rows of threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from kernbench.arrays import UniqueRows, unique_rows
from kernbench.engine.turns import acts
from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernbench.tanto.timing.math_lowering import lower_math
from kernbench.tanto.timing.row_arrays import delay_kinds, find_thread_lines, place_rows
from kernbench.tanto.timing.row_buffer import NO_ROW

if TYPE_CHECKING:
    from kernbench.program.thread import SourceLines
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.scripts.dataflow_script import DataflowScript
    from kernbench.tanto.scripts.math_script import MathScript

_FORM = Struct(f"d{1 + ROW_WIDTH}q")
_CODE, _FIRST, _THIRD = 1, 2, 4  # columns of a row: its opcode, its first operand and its third


def give_dataflow_rows(scripts: Sequence[DataflowScript], met: Sequence[np.ndarray]) -> None:
    """Give the threads of readers and writers their rows, of all at once.

    `met` has int64[act] of each script: the changes of semaphores that it waits for.
    """
    if not scripts:
        return
    costs, count = scripts[0].lowering.costs, len(scripts)
    entries, first, of = _join([script.take_entries() for script in scripts])
    forms, first_form, form_of = _join([_pack_forms(script) for script in scripts])
    _set_met(entries, first, scripts, met)
    operations, lines, form, values = entries.T
    form = form + first_form[of]
    cycles, forms = forms[:, 0].copy().view(np.float64)[form], forms[:, 1:]
    delays, delay = delay_kinds(operations, cycles, costs, first)
    code = forms[form, _CODE]
    waits = (code == Op.WAIT) & (values > 0)
    waiting = forms[form[waits]]
    waiting[:, _THIRD] = values[waits]

    # Each thread has delays of its own. All entries of a form have the same row, unless they wait for a value.
    rows = np.concatenate([np.tile(delays, (count, 1)), forms, waiting])
    owner = np.concatenate([np.repeat(np.arange(count), len(delays)), form_of, of[waits]])
    row = form + count * len(delays)
    row[waits] = np.arange(len(rows) - len(waiting), len(rows))
    which, ends = place_rows(
        [(delay > 0, delay + of * len(delays)), (waits | ((code != Op.WAIT) & (code != NO_ROW)), row)]
    )
    used = np.flatnonzero(np.bincount(which))
    used = used[np.argsort(owner[used], kind="stable")]
    number = np.empty(len(rows), np.int64)
    number[used] = np.arange(len(used))
    rows, which, cuts = rows[used], number[which], np.searchsorted(owner[used], np.arange(count + 1))
    sources = find_thread_lines(lines, ends, first, [script.kernel.unit.file for script in scripts], costs.program)
    row_cuts = np.append(0, ends)[np.append(first, len(ends))]
    for script, found, (at, end), (start, stop) in zip(
        scripts, sources, pairwise(cuts.tolist()), pairwise(row_cuts.tolist()), strict=True
    ):
        thread = script.rows.buffer.thread
        thread.extend_encoded(rows[at:end], which[start:stop] - at)
        thread.sources = found


def _set_met(
    entries: np.ndarray, first: np.ndarray, scripts: Sequence[DataflowScript], met: Sequence[np.ndarray]
) -> None:
    """Give the entries that wait for changes of semaphores their values."""
    at = [np.array(script.meetings, np.int64) + start for script, start in zip(scripts, first.tolist(), strict=True)]
    is_met = [script.act_rows[:, acts.ACT] == acts.MEET for script in scripts]
    entries[np.concatenate(at), 3] = np.concatenate(met)[np.concatenate(is_met)]


def _join(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All parts as one array, int64[part] where each begins, and int64[row] the part of each row."""
    counts = np.array([len(part) for part in parts])
    return np.concatenate(parts), np.cumsum(counts) - counts, np.repeat(np.arange(len(parts)), counts)


def _pack_forms(script: DataflowScript) -> np.ndarray:
    """int64[form, 2 + ROW_WIDTH] the bits of the cycles, and rows; those that wait have no value yet, and some are none."""
    packed = b"".join([_FORM.pack(*form) for form in script.forms])
    return np.frombuffer(packed, np.int64).reshape(-1, 2 + ROW_WIDTH)


def give_math_rows(script: MathScript, kernels: Iterable[RunningKernel]) -> None:
    """Give the threads of all math kernels that a script is of their rows."""
    threads: list[tuple[UniqueRows, np.ndarray, np.ndarray, SourceLines]] = []
    for made in lower_math(script.rows, script.take_entries()):
        distinct = unique_rows(made.rows)
        code = distinct.rows[:, _CODE]
        on_counter, jobs = np.flatnonzero((code == Op.WAIT) | (code == Op.ADD)), np.flatnonzero(code == Op.EXEC)
        threads.append((distinct, on_counter, jobs, made.sources))
    for kernel in kernels:
        counters, servers = _others(script, kernel)
        for thread, (distinct, on_counter, jobs, sources) in zip(kernel.compute.threads, threads, strict=True):
            rows = distinct.rows.copy()
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
