"""The op log: a polars table with a row for each operation that took part in a run.

Operations are the rows of the program that have a tag (jobs, transfers, pipes, barriers, marks) and the stages of tile
plans; untagged rows are the program's own bookkeeping. Sorted by (start, end, thread, rows before stages, row): a total order
that does not depend on when rows were written, so a recorded and a live run have one log.

| column | |
|---|---|
| start_fs, end_fs | int64, from the start of the run; queueing is before the start |
| component | the part that did it: the server of a job, the holder of a transfer's channel, else the part of the thread |
| op_kind, op_name | "memory", "gemm", "math" or "control", and the name of the operation |
| params | JSON: its parameters (`oplog.params`), of a stage those of its tile (`oplog.tiles`); "" if there are none |
| dependencies | rows of this table: the one before in the same thread or tile |
| thread | the thread that issued it |
| bytes | payload of a transfer, 0 else |
| issue_fs | its issue |
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from kernbench.machine.costs import plan_tiles
from kernbench.oplog.params import ThreadParams
from kernbench.oplog.tiles import Stage, describe_stages
from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import polars as pl

    from kernbench.oplog.params import Params
    from kernbench.program.program import Program

_encode = json.JSONEncoder(separators=(",", ":")).encode


def build_log(program: Program, issue_fs: np.ndarray, start_fs: np.ndarray, end_fs: np.ndarray) -> pl.DataFrame:
    """The table of a run. Times are int64[row] of the program's op table; -1: never."""
    import polars as pl

    thread, before, plan = _owners(program)
    row = _order(program, start_fs, end_fs, thread, plan)
    place = np.full(program.row_count + 1, NONE, np.int64)
    place[row] = np.arange(len(row))
    op, tags = program.op[row], program.op_tag[row]
    names = np.array([name for name, _ in program.tags], object)
    kinds = np.array([kind for _, kind in program.tags], object)
    threads = np.array([*(thread.name for thread in program.threads), ""], object)[thread[row]]
    is_move = op[:, 0] == Op.MOVE
    params = _params(program)
    return pl.DataFrame(
        {
            "start_fs": start_fs[row],
            "end_fs": end_fs[row],
            "component": _components(program, op, threads),
            "op_kind": kinds[tags].tolist(),
            "op_name": names[tags].tolist(),
            "params": [params.get(at, "") for at in row.tolist()],
            "dependencies": place[before[row]],
            "thread": threads.tolist(),
            "bytes": np.where(is_move, op[:, 2], 0),
            "issue_fs": issue_fs[row],
        },
    ).with_columns(pl.concat_list(pl.col("dependencies").replace(NONE, None)).list.drop_nulls())


def order_rows(program: Program, start_fs: np.ndarray, end_fs: np.ndarray) -> np.ndarray:
    """int64[row of the log] its row in the op table. Times are int64[row] of the op table; -1: never."""
    thread, _, plan = _owners(program)
    return _order(program, start_fs, end_fs, thread, plan)


def find_note(program: Program, row: int) -> Mapping[str, Any] | None:
    """The note of a row of the op table; for a stage the note of its plan; None for a command."""
    plan = np.searchsorted(program.plan_rows, row, side="right") - 1
    owner = int(program.op_thread[row])
    if owner == NONE:
        return program.plan_notes[plan]
    thread = program.threads[owner]
    return next((note for at, note in thread.notes.items() if thread.find_row(at) == row), None)


def _order(
    program: Program, start_fs: np.ndarray, end_fs: np.ndarray, thread: np.ndarray, plan: np.ndarray
) -> np.ndarray:
    row = np.flatnonzero((program.op_tag != 0) & (end_fs >= 0))
    return row[np.lexsort((row, plan[row], thread[row], end_fs[row], start_fs[row]))]


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


def _params(program: Program) -> dict[int, str]:
    """JSON of the parameters of each op-table row that has any."""
    found: dict[int, str] = {}
    plans: dict[int, Params] = {}
    for thread in program.threads:
        known = ThreadParams()
        for at, note in sorted(thread.notes.items()):
            row = thread.find_row(at)
            params = known.describe(note)
            found[row] = _encode(params)
            if program.op[row, 0] == Op.PIPE:
                plans[int(program.op[row, 1])] = params
    for plan, params in plans.items():
        rows, stages = _list_stages(program, plan)
        tile_plan = program.machine.costs.plan if params.get("kind") == "gemm" else plan_tiles
        if params["op"] == "composite":
            found.update(zip(rows, map(_encode, describe_stages(params, stages, tile_plan)), strict=True))
        else:
            found.update(dict.fromkeys(rows, _encode(params)))
    return found


def _list_stages(program: Program, plan: int) -> tuple[range, list[list[Stage]]]:
    """The op-table rows of a plan, and its stages token by token."""
    tokens = slice(program.plan_start[plan], program.plan_start[plan + 1])
    starts, ends = program.token_start[tokens].tolist(), program.token_end[tokens].tolist()
    rows = range(starts[0], ends[-1])
    tags, nbytes = program.op_tag[rows.start : rows.stop].tolist(), program.op[rows.start : rows.stop, 2].tolist()
    stages = [Stage(program.tags[tag][0], program.tags[tag][1], size) for tag, size in zip(tags, nbytes, strict=True)]
    return rows, [stages[start - starts[0] : end - starts[0]] for start, end in zip(starts, ends, strict=True)]
