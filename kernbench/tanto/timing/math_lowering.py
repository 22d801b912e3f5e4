"""The rows of the three threads of a math kernel, all of a thread at once: how often each unit has worked is a running sum.

A run is operations of the matrix unit one after the other, of one line and all alike. It has the rows of three operations,
however long it is. The unit works on the first with all that follow but two, and in the second all operands between the first
and the last are unpacked. Where the operands of all take as long to unpack, each unit has worked as long and ends at the same
time as if each operation had rows of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.program.ops import ROW_WIDTH
from kernbench.tanto.timing.math_step import Step
from kernbench.tanto.timing.row_arrays import Slot, add_rows, delay_rows, find_lines, place_rows, wait_rows

if TYPE_CHECKING:
    from kernbench.program.thread import SourceLines
    from kernbench.tanto.timing.math_rows import MathRows

HALVES = 2  # of the destination registers
_RUN_STEPS = 3  # of a run


class _Kinds(NamedTuple):
    """bool[step] of each kind; `commits` gives the slots to the packer, `committed` comes while it has them."""

    begin: np.ndarray
    end: np.ndarray
    matrix: np.ndarray
    vector: np.ndarray
    pack: np.ndarray
    commits: np.ndarray
    committed: np.ndarray
    after_vector: np.ndarray  # the last work before was that of the vector unit


class _Sums(NamedTuple):
    """int64[step] how often it was done up to the step, this one included."""

    sections: np.ndarray
    unpacks: np.ndarray
    vectors: np.ndarray
    packs: np.ndarray
    fulls: np.ndarray


class ThreadRows(NamedTuple):
    """The rows of a thread, int64[row, 1 + ROW_WIDTH], where their lines begin, and int64[step] where those of a step end."""

    rows: np.ndarray
    sources: SourceLines
    ends: np.ndarray


def lower_math(rows: MathRows, steps: np.ndarray) -> list[ThreadRows]:
    """The rows of the threads of a math kernel, of int64[step, 5]."""
    steps, of, issued = _shorten_runs(rows, steps)
    step = steps[:, 0]
    kinds = _find_kinds(step)
    counted = (kinds.begin, kinds.matrix, kinds.vector, kinds.pack, kinds.commits)
    sums = _Sums(*(np.cumsum(one) for one in counted))
    jobs = np.frombuffer(b"".join(rows.jobs), np.int64).reshape(-1, 1 + ROW_WIDTH)
    last = step == Step.FINISH
    loads = step == Step.LOAD
    unpacks = kinds.matrix | (step == Step.DATA) | (step == Step.POP) | loads | last
    packs = kinds.pack | kinds.end | (step == Step.ROOM) | (step == Step.PUSH) | last
    computes = kinds.begin | kinds.matrix | kinds.vector | kinds.commits | last
    looks = np.isin(step, (Step.DATA, Step.POP, Step.ROOM, Step.PUSH))
    extra = np.select([loads, looks], [rows.lowering.load_cycles, rows.lowering.register_cycles], 0.0)
    return [
        _lower_thread(
            rows,
            steps[own],
            operations[own],
            extra[own],
            np.cumsum(own)[of],
            [(has[own], made[own]) for has, made in slots],
        )
        for own, operations, slots in (
            (unpacks, steps[:, 1], _unpacker(rows, steps, kinds, sums, jobs)),
            (computes, issued, _units(rows, steps, kinds, sums, jobs)),
            (packs, steps[:, 1], _packer(rows, steps, kinds, sums, jobs)),
        )
    ]


def _lower_thread(
    rows: MathRows, steps: np.ndarray, operations: np.ndarray, cycles: np.ndarray, done: np.ndarray, slots: list[Slot]
) -> ThreadRows:
    """The rows of a thread, of its own steps; `done` are how many of them there are up to each step of the kernel."""
    costs = rows.lowering.costs
    made, ends = place_rows([delay_rows(operations, cycles, costs), *slots])
    sources = find_lines(steps[:, 2], ends, rows.kernel.unit.file, costs.program)
    return ThreadRows(made, sources, np.concatenate(([0], ends))[done])


def _shorten_runs(rows: MathRows, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The steps with three for each longer run, int64[step] which of them each is in, and int64[] operations before each.

    These are of the processor of the matrix unit, which has issued all but the last when the unit comes to the second.
    """
    kind, line, job = steps[:, 0], steps[:, 2], steps[:, 3]
    follows = np.zeros(len(steps), bool)
    follows[1:] = (
        (kind[1:] == Step.MATRIX) & (kind[:-1] == Step.MATRIX) & (line[1:] == line[:-1]) & (job[1:] == job[:-1])
    )
    follows[[at for one in rows.single for at in (one, one + 1) if at < len(steps)]] = False
    first = np.flatnonzero(~follows)
    length = np.diff(np.append(first, len(steps)))
    at = np.arange(len(steps)) - np.repeat(first, length)
    keeps = (at < _RUN_STEPS - 1) | (at == np.repeat(length, length) - 1)
    first, length = first[length > _RUN_STEPS], length[length > _RUN_STEPS]
    steps, issued = steps.copy(), steps[:, 1].copy()
    issued[first + 1] = steps[first + length - 2, 1]
    for begin, count in zip(first.tolist(), length.tolist(), strict=True):
        _shorten_run(rows, steps[begin : begin + count])
    return steps[keeps], np.cumsum(keeps) - 1, issued[keeps]


def _shorten_run(rows: MathRows, run: np.ndarray) -> None:
    """Give the first two steps of a run the work of all but the last."""
    unpacks: list[int] = run[1:-1, 4].tolist()
    _, name, each = rows.job_keys[int(run[0, 3])]
    run[0, 3] = rows.long_job("matrix", name, (len(run) - 2) * each)
    run[1, 4] = rows.long_job("unpack", "unpack", sum(rows.job_keys[job][2] for job in unpacks))


def _find_kinds(step: np.ndarray) -> _Kinds:
    begin, end, matrix, vector, pack = (
        step == kind for kind in (Step.BEGIN, Step.END, Step.MATRIX, Step.VECTOR, Step.PACK)
    )
    committed = _is_last(pack, begin | matrix | vector | pack)
    return _Kinds(begin, end, matrix, vector, pack, pack & ~committed, committed, _is_last(vector, matrix | vector))


def _is_last(kind: np.ndarray, among: np.ndarray) -> np.ndarray:
    """bool[step] whether the last step before it, of those among which it is looked for, is of a kind."""
    at = np.maximum.accumulate(np.where(among, np.arange(len(kind)), -1))
    before = np.concatenate(([-1], at[:-1]))
    return (before >= 0) & kind[before]


def _unpacker(rows: MathRows, steps: np.ndarray, kinds: _Kinds, sums: _Sums, jobs: np.ndarray) -> list[Slot]:
    step, first, second = steps[:, 0], steps[:, 3], steps[:, 4]
    banks, data, pop = rows.lowering.source_banks, step == Step.DATA, step == Step.POP
    ahead = kinds.matrix & (sums.unpacks > banks)
    done = pop & (sums.unpacks > 0)
    return [
        (ahead, wait_rows(rows.multiplied, sums.unpacks - banks)),
        (done, wait_rows(rows.unpacked, sums.unpacks)),
        (kinds.matrix, _of_jobs(jobs, second, kinds.matrix)),
        (data & (second > 0), wait_rows(first, second)),
        (pop, add_rows(first, second)),
    ]


def _units(rows: MathRows, steps: np.ndarray, kinds: _Kinds, sums: _Sums, jobs: np.ndarray) -> list[Slot]:
    first, works = steps[:, 3], kinds.matrix | kinds.vector
    multiplied = wait_rows(rows.multiplied, sums.unpacks)
    mapped = wait_rows(rows.mapped, sums.vectors)
    return [
        (kinds.begin & (sums.sections > HALVES), wait_rows(rows.free, sums.sections - HALVES)),
        (works & kinds.committed, wait_rows(rows.packed, sums.packs)),
        ((kinds.commits | (kinds.vector & ~kinds.after_vector)) & (sums.unpacks > 0), multiplied),
        ((kinds.commits & (sums.vectors > 0)) | (kinds.matrix & kinds.after_vector), mapped),
        (kinds.matrix, wait_rows(rows.unpacked, sums.unpacks)),
        (works, _of_jobs(jobs, first, works)),
        (kinds.commits, add_rows(rows.full, np.ones_like(first))),
    ]


def _packer(rows: MathRows, steps: np.ndarray, kinds: _Kinds, sums: _Sums, jobs: np.ndarray) -> list[Slot]:
    step, first, second = steps[:, 0], steps[:, 3], steps[:, 4]
    push, room = step == Step.PUSH, step == Step.ROOM
    return [
        (kinds.commits, wait_rows(rows.full, sums.fulls)),
        ((kinds.end | push) & (sums.packs > 0), wait_rows(rows.packed, sums.packs)),
        (kinds.pack, _of_jobs(jobs, first, kinds.pack)),
        (kinds.end, add_rows(rows.free, np.ones_like(first))),
        (push, add_rows(first, second)),
        (room & (second > 0), wait_rows(first, second)),
    ]


def _of_jobs(jobs: np.ndarray, job: np.ndarray, has: np.ndarray) -> np.ndarray:
    """The rows of the jobs of the steps that have one; others have any."""
    return jobs[np.where(has, job, 0)] if len(jobs) else np.zeros((len(job), 1 + ROW_WIDTH), np.int64)
