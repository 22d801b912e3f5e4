"""From what kernels left to the rows of their threads, of all threads at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from struct import Struct

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernbench.tanto.timing.dataflow_rows import NO_ROW, DataflowRows
from kernbench.tanto.timing.math_lowering import lower_math
from kernbench.tanto.timing.math_rows import MathRows
from kernbench.tanto.timing.row_arrays import delay_kinds, find_thread_lines, place_rows

_FORM = Struct(f"d{1 + ROW_WIDTH}q")
_CODE, _FIRST, _THIRD = 1, 2, 4  # columns of a row: its opcode, its first operand and its third


def give_rows(all: Iterable[DataflowRows | MathRows]) -> None:
    """Give the threads of finished kernels their rows."""
    moving = list[DataflowRows]()
    for rows in all:
        if isinstance(rows, MathRows):
            give_math_rows(rows, [rows])
        else:
            moving.append(rows)
    give_dataflow_rows(moving)


def give_dataflow_rows(all: Sequence[DataflowRows]) -> None:
    """Give the threads of finished readers and writers their rows."""
    if not all:
        return
    lowering, count = all[0].lowering, len(all)
    entries, first, of = _join([rows.take_entries() for rows in all])
    forms, first_form, form_of = _join([_pack_forms(rows) for rows in all])
    operations, lines, form, values = entries.T
    form = form + first_form[of]
    cycles, forms = forms[:, 0].copy().view(np.float64)[form], forms[:, 1:]
    delays, delay = delay_kinds(operations, cycles, lowering.costs, first)
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
    sources = find_thread_lines(lines, ends, first, [one.kernel.unit.file for one in all], lowering.costs.program)
    entry_cuts = np.append(first, len(ends))
    row_cuts = np.append(0, ends)[entry_cuts]
    for one, found, (at, end), (start, stop), (begin, finish) in zip(
        all, sources, *(pairwise(some.tolist()) for some in (cuts, row_cuts, entry_cuts)), strict=True
    ):
        one.thread.extend_encoded(rows[at:end], which[start:stop] - at)
        one.thread.sources = found
        lowering.keep_ends(one.id, ends[begin:finish] - start)


def _join(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All parts as one array, int64[part] where each begins, and int64[row] the part of each row."""
    counts = np.array([len(part) for part in parts])
    return np.concatenate(parts), np.cumsum(counts) - counts, np.repeat(np.arange(len(parts)), counts)


def _pack_forms(rows: DataflowRows) -> np.ndarray:
    """int64[form, 2 + ROW_WIDTH] the bits of the cycles, and rows; those that wait have no value yet, and some are none."""
    packed = b"".join([_FORM.pack(*form) for form in rows.forms])
    return np.frombuffer(packed, np.int64).reshape(-1, 2 + ROW_WIDTH)


def give_math_rows(rows: MathRows, all: Iterable[MathRows]) -> None:
    """Give the threads of all math kernels that did the same as a finished one their rows, on the core of each."""
    made = lower_math(rows, rows.take_entries())
    threads = [(one, unique_rows(one.rows)) for one in made]
    for other in all:
        counters, servers = _others(rows, other)
        for thread, (one, distinct) in zip(other.threads, threads, strict=True):
            own, code = distinct.rows.copy(), distinct.rows[:, _CODE]
            on_counter, jobs = (code == Op.WAIT) | (code == Op.ADD), code == Op.EXEC
            own[on_counter, _FIRST] = counters[own[on_counter, _FIRST]]
            own[jobs, _FIRST] = servers[own[jobs, _FIRST]]
            own[jobs, _THIRD] = counters[own[jobs, _THIRD]]
            thread.extend_encoded(own, distinct.which)
            thread.sources = one.sources
            other.lowering.keep_ends(thread.id, one.ends)


def _others(rows: MathRows, other: MathRows) -> tuple[np.ndarray, np.ndarray]:
    """int64[] the counters and servers of a kernel, by those of one that did the same."""
    counters = np.full(len(rows.lowering.program.counter_labels), NONE)
    servers = np.full(len(rows.lowering.machine.server_slots), NONE)
    counters[list(rows.counters)] = other.counters
    for name, own in rows.servers.items():
        servers[own] = other.servers[name]
    for id, part in rows.pipes.items():
        counters[list(part.counters)] = other.pipes[id].counters
    return counters, servers
