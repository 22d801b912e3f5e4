"""The op log: a polars table with a row for each operation that took part in a run.

Operations are the rows of the program that have a tag (jobs, transfers, pipes, barriers, marks) and the stages of tile
plans; untagged rows are the program's own bookkeeping. Sorted by (start, end, thread, rows before stages, row): a total order
that does not depend on when rows were written, so a recorded and a live run have one log. A thread with a role is a part by
itself, which did all of its rows.

| column | |
|---|---|
| start_fs, end_fs | int64, from the start of the run; queueing is before the start |
| component | the part that did it: server of a job, holder of a transfer's channel, end of an arrival, else of the thread |
| op_kind, op_name | "memory", "gemm", "math", "control" or "composite", and the name of the operation |
| params | JSON: its parameters (`oplog.params`), of a stage those of its tile (`oplog.tiles`); "" if there are none |
| dependencies | rows of this table: the one that is noted as the cause, else the one before in the same thread or tile |
| thread | the thread that issued it |
| bytes | payload of a transfer, 0 else |
| issue_fs | its issue |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.oplog.causes import find_transfer
from kernbench.oplog.params_json import RowParams, encode_params
from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import polars as pl

    from kernbench.program.encoded_rows import EncodedRows
    from kernbench.program.program import Program


def build_log(
    program: Program,
    issue_fs: np.ndarray,
    start_fs: np.ndarray,
    end_fs: np.ndarray,
    row: np.ndarray | None = None,
) -> pl.DataFrame:
    """The table of a run. Times are int64[row] of the program's op table, -1: never; `row` what `order_rows` found."""
    import polars as pl

    thread, before, plan = _owners(program)
    row = _order(program, start_fs, end_fs, thread, plan) if row is None else row
    place = np.full(program.row_count + 1, NONE, np.int64)
    place[row] = np.arange(len(row))
    found = LogRows(program, thread, row, encode_params(program)).table(row, issue_fs, start_fs, end_fs)
    dependencies = pl.Series("dependencies", _lists(place[before[row]]))
    return found.insert_column(found.get_column_index("params") + 1, dependencies)


@dataclass(frozen=True, slots=True)
class LogRows:
    """The rows of an op log, for tables of a part at a time."""

    program: Program
    thread: np.ndarray  # int64[row of the op table]
    row: np.ndarray  # int64[row of the log] its row in the op table
    params: RowParams

    @classmethod
    def of(cls, program: Program, start_fs: np.ndarray, end_fs: np.ndarray) -> LogRows:
        """The rows of a run. Times are int64[row] of the op table, -1: never."""
        thread, _, plan = _owners(program)
        return cls(program, thread, _order(program, start_fs, end_fs, thread, plan), encode_params(program))

    def table(self, row: np.ndarray, issue_fs: np.ndarray, start_fs: np.ndarray, end_fs: np.ndarray) -> pl.DataFrame:
        """The table of some rows, int64[n] of the op table, without dependencies. Times are of all rows of the op table."""
        import polars as pl

        program, tags, thread = self.program, self.program.op_tag[row], self.thread[row]
        server, nbytes = _server_and_bytes(program.op, row)
        return pl.DataFrame(
            {
                "start_fs": start_fs[row],
                "end_fs": end_fs[row],
                "component": _components(program, server, thread, row),
                "op_kind": _gather([kind for _, kind in program.tags], tags),
                "op_name": _gather([name for name, _ in program.tags], tags),
                "params": _gather(self.params.texts, self.params.code[row]),
                "thread": _gather([thread.name for thread in program.threads], thread),
                "bytes": nbytes,
                "issue_fs": issue_fs[row],
            }
        )


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
    import polars as pl

    row = np.flatnonzero((program.op_tag != 0) & (end_fs >= 0))
    keys = pl.DataFrame({"start": start_fs[row], "end": end_fs[row], "thread": thread[row], "plan": plan[row]})
    return row[keys.select(pl.arg_sort_by(keys.columns, maintain_order=True)).to_series().to_numpy()]


def _owners(program: Program) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """int64[row] thread, logged row before it (NONE for none), plan of a stage (NONE for others)."""
    thread = program.op_thread[:]
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
    for row, cause in program.causes.items():
        if cause.shown != NONE and program.op_tag[cause.shown]:
            before[row] = cause.shown
    return thread, before, plan


def _server_and_bytes(op: EncodedRows, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of int64[n] rows: int64[n] the server that each holds, or NONE; int64[n] the bytes that it transfers."""
    entries = op.values
    code = entries[:, 0]
    is_move = code == Op.MOVE
    server = np.where(is_move, entries[:, 5], np.where(code == Op.EXEC, entries[:, 1], NONE))
    entry = op.entry[row]
    return server[entry], np.where(is_move, entries[:, 2], 0)[entry]


def _components(program: Program, server: np.ndarray, thread: np.ndarray, row: np.ndarray) -> pl.Series:
    """The part of each row: that of its server, else that of its thread. Arguments: int64[n] server or NONE, thread, row."""
    servers = program.machine.server_name
    parts = [*servers, *(thread.name.partition("/")[0] for thread in program.threads)]
    has_role = np.array([bool(thread.role) for thread in program.threads], bool)
    part = np.where((server == NONE) | has_role[thread], len(servers) + thread, server)
    for at in np.flatnonzero(program.op[row, 0] == Op.ARRIVE).tolist():
        part[at] = len(parts)
        parts.append(_find_destination(program, int(row[at])))
    return _gather(parts, part)


def _find_destination(program: Program, row: int) -> str:
    """The destination of a row that is an arrival."""
    move, routing = find_transfer(program.op, row), program.machine.routing
    return program.machine.node_name[routing.destinations(int(program.op[move, 1]))[row - move - 1]]


def _lists(values: np.ndarray) -> pl.Series:
    """A column of lists, int64[row]: of the value, or empty for NONE."""
    import polars as pl

    column = pl.DataFrame({"value": values[:, None], "length": (values != NONE).astype(np.int64)})
    return column.select(pl.col("value").arr.to_list().list.head(pl.col("length"))).to_series()


def _gather(texts: Sequence[str], code: np.ndarray) -> pl.Series:
    """A column of few distinct texts; int64[row] is the text of each row."""
    import polars as pl

    return pl.Series(texts, dtype=pl.String).gather(code)
