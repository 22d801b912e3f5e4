"""Files of a run: its op log, its metrics, and the tables that the viewer draws it from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernbench.atomic_output import RESULT, write_directory, write_json, write_parquet
from kernbench.errors import InputError
from kernbench.machine.machine_tables import tell_machine
from kernbench.oplog.causes import Times
from kernbench.oplog.critical import Piece
from kernbench.oplog.log import build_log, order_rows
from kernbench.program.ops import NONE
from kernbench.runs.explanation import find_path, make_path_table
from kernbench.runs.file_names import MACHINE, OP_LOG, PATH, USAGE
from kernbench.runs.view_tables import make_view_tables

if TYPE_CHECKING:
    import polars

    from kernbench.runs.explanation import Explanation
    from kernbench.runs.result import RunResult
    from kernbench.runs.what_if import WhatIf


def write_files(
    result: RunResult, out: Path, explanation: Explanation | None = None, what_if: WhatIf | None = None
) -> dict[str, str]:
    """Write the op log and the figures of a run into a directory, made if missing; returns where they are, by what they are.

    With an explanation also its table of utilisation, and its sums among the figures; a what-if table is among the figures
    too. What `kernbench web` draws beside (`view_tables`) is written, but not among what is returned.

    Errors: RunError if the disk refuses; InputError in mode analytic.
    """
    if result.binding is not None:
        raise InputError("analytic mode has no events, so it keeps no op log; use mode hybrid")
    files = {"oplog": str(out / OP_LOG), "result": str(out / RESULT), "critical_path": str(out / PATH)}
    summary = {**result.to_dict(), "files": files}
    if explanation is not None:
        files["utilisation"] = str(out / USAGE)
        summary["explain"] = explanation.to_dict()
    if what_if is not None:
        summary["what_if"] = what_if.to_dict()

    def write(partial: Path) -> None:
        session = result.device.session
        times = Times(session.op_issue_fs, session.op_start_fs, session.op_end_fs)
        row = order_rows(session.program, times.start_fs, times.end_fs)
        write_parquet(build_log(session.program, *times, row), partial / OP_LOG)
        path = find_path(session, result.launches, times) if explanation is None else explanation.path
        write_parquet(_path_with_rows(path, row, session.program.row_count), partial / PATH)
        for name, table in make_view_tables(session.program, times, row).items():
            write_parquet(table, partial / name)
        write_json(tell_machine(session.machine), partial / MACHINE)
        if explanation is not None:
            explanation.utilisation_table().write_parquet(partial / USAGE)
        write_json(summary, partial / RESULT)

    write_directory(out, write)
    return files


def _path_with_rows(path: Sequence[Piece], row: np.ndarray, rows: int) -> polars.DataFrame:
    """The critical path with `row`, that of the op log, null for a piece of which it has none.

    `row`: int64[row of the op log] its row in the op table, of so many `rows`.
    """
    import polars

    place = np.full(rows + 1, NONE, np.int64)  # the last, which NONE reads, is none
    place[row] = np.arange(len(row))
    of_piece = np.array([piece.row for piece in path for _ in piece.spent_fs], np.int64)
    found = polars.Series(place[of_piece], dtype=polars.Int64)
    return make_path_table(path).with_columns(row=found.replace(NONE, None))
