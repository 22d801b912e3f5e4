"""The op log: a polars table with a row for each operation that took part in a run.

Operations are the rows of the program that carry a tag (jobs, transfers, pipes, barriers, marks) and the stages of tile
plans; untagged rows are the program's own bookkeeping. Sorted by (start, end, thread, rows before stages, row): a total order
that does not depend on when rows were written, so a recorded and a live run have one log.

| column | |
|---|---|
| start_fs, end_fs | int64, from the start of the run; queueing is before the start |
| component | the part that did it: the server of a job, the holder of a transfer's channel, else the part of the thread |
| op_kind, op_name | "memory", "gemm", "math" or "control", and what it was |
| params | JSON of the note of the row, or of its plan; "" without |
| dependencies | rows of this table: the one before in the same thread or tile |
| thread | which thread asked for it |
| bytes | payload of a transfer, 0 else |
| issue_fs | when it was asked for |
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.notes import plain
from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from kernbench.program.program import Program


def build_log(program: Program, issue_fs: np.ndarray, start_fs: np.ndarray, end_fs: np.ndarray) -> pl.DataFrame:
    """The table of a run. Times are int64[row] of the program's op table; -1: never."""
    import polars as pl

    thread, before, plan = _owners(program)
    row = np.flatnonzero((program.op_tag != 0) & (end_fs >= 0))
    row = row[np.lexsort((row, plan[row], thread[row], end_fs[row], start_fs[row]))]
    place = np.full(program.row_count + 1, NONE, np.int64)
    place[row] = np.arange(len(row))
    op, tags = program.op[row], program.op_tag[row]
    names = np.array([name for name, _ in program.tags], object)
    kinds = np.array([kind for _, kind in program.tags], object)
    threads = np.array([*(thread.name for thread in program.threads), ""], object)[thread[row]]
    is_move = op[:, 0] == Op.MOVE
    return pl.DataFrame(
        {
            "start_fs": start_fs[row],
            "end_fs": end_fs[row],
            "component": _components(program, op, threads),
            "op_kind": kinds[tags].tolist(),
            "op_name": names[tags].tolist(),
            "params": _params(program, row, plan[row]),
            "dependencies": [[] if at < 0 else [at] for at in place[before[row]].tolist()],
            "thread": threads.tolist(),
            "bytes": np.where(is_move, op[:, 2], 0),
            "issue_fs": issue_fs[row],
        },
        schema_overrides={"dependencies": pl.List(pl.Int64)},
    )


def _owners(program: Program) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """int64[row] thread, logged row before it (NONE for none), plan of a stage (NONE for others)."""
    thread = program.op_thread.copy()
    before = np.full(len(thread), NONE, np.int64)
    plan = np.full(len(thread), NONE, np.int64)
    own = np.flatnonzero((program.op_tag != 0) & (thread != NONE))
    by_thread = own[np.argsort(thread[own], kind="stable")]
    same = thread[by_thread[1:]] == thread[by_thread[:-1]]
    before[by_thread[1:][same]] = by_thread[:-1][same]
    plan_start, token_start, token_end = program.plan_start, program.token_start, program.token_end
    for pipe in np.flatnonzero(program.op[:, 0] == Op.PIPE):
        number = program.op[pipe, 1]
        tokens = slice(plan_start[number], plan_start[number + 1])
        first, end = token_start[tokens], token_end[tokens]
        stages = slice(first[0], end[-1])
        thread[stages] = thread[pipe]
        plan[stages] = number
        before[stages] = np.arange(first[0], end[-1]) - 1
        before[first] = pipe
    return thread, before, plan


def _components(program: Program, op: np.ndarray, threads: np.ndarray) -> list[str]:
    machine = program.machine
    server = np.where(op[:, 0] == Op.EXEC, op[:, 1], np.where(op[:, 0] == Op.MOVE, op[:, 5], NONE))
    names = np.array([*machine.server_name, ""], object)[server]
    return [name or thread.partition("/")[0] for name, thread in zip(names, threads, strict=True)]


def _params(program: Program, row: np.ndarray, plan: np.ndarray) -> list[str]:
    noted = {thread.find_row(at): note for thread in program.threads for at, note in thread.notes.items()}
    plans: list[str | None] = [None] * len(program.plan_notes)

    def of_plan(number: int) -> str:
        text = plans[number]
        if text is None:
            text = plans[number] = _json(program.plan_notes[number])
        return text

    return [
        of_plan(p) if p >= 0 else _json(noted[r]) if r in noted else ""
        for r, p in zip(row.tolist(), plan.tolist(), strict=True)
    ]


def _json(note: Mapping[str, object] | Sequence[object]) -> str:
    return json.dumps(plain(note), separators=(",", ":"))
