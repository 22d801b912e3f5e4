"""Files of a run: its op log, its metrics, and the tables that the viewer draws it from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.atomic_output import RESULT, write_directory, write_json, write_parquet
from kernbench.energy.run_energy import is_priced
from kernbench.errors import InputError
from kernbench.machine.machine_tables import tell_machine
from kernbench.oplog.critical import Piece
from kernbench.oplog.log import build_log, order_rows
from kernbench.program.ops import NONE
from kernbench.runs.explanation import find_path, make_path_table
from kernbench.runs.file_names import ENERGY, MACHINE, OP_LOG, PATH, USAGE
from kernbench.runs.view_tables import make_view_tables

if TYPE_CHECKING:
    import polars

    from kernbench.engine import Session
    from kernbench.runs.explanation import Explanation
    from kernbench.runs.result import RunResult
    from kernbench.runs.what_if import WhatIf


@dataclass(frozen=True, slots=True)
class RunToKeep:
    """A finished run of a device program, whatever wrote the program."""

    session: Session
    summary: Mapping[str, Any]  # of `result.json`, in JSON's types
    path: Sequence[Piece]  # the critical path
    explanation: Explanation | None = None
    energy: Mapping[str, Any] = field(default_factory=dict[str, Any])  # `tell_energy`


def write_files(
    result: RunResult,
    out: Path,
    explanation: Explanation | None = None,
    what_if: WhatIf | None = None,
    told: Mapping[str, Any] | None = None,
    write_more: Callable[[Path], object] | None = None,
) -> dict[str, str]:
    """Write the op log and the figures of a run into a directory, made if missing; returns where they are, by what they are.

    With an explanation also its table of utilisation, and its sums among the figures; a what-if table is among the figures
    too, as are those `told`. What `kernbench web` draws beside (`view_tables`) is written, but not among what is returned;
    `write_more` is given a directory whose files appear with them.

    Errors: RunError if the disk refuses; InputError in mode analytic.
    """
    if result.binding is not None:
        raise InputError("analytic mode has no events, so it keeps no op log; use mode hybrid")
    summary = {**result.to_dict(), **(told or {})}
    if explanation is not None:
        summary["explain"] = explanation.to_dict()
    if what_if is not None:
        summary["what_if"] = what_if.to_dict()
    session = result.device.session
    found = find_path(session, result.launches, session.times) if explanation is None else explanation.path
    return write_run(RunToKeep(session, summary, found, explanation, tell_energy(result)), out, write_more)


def tell_energy(result: RunResult) -> dict[str, Any]:
    """Where the energy of a result went; nothing on a machine without prices."""
    return result.tell_energy() if is_priced(result.device.program.machine) else {}


def write_run(run: RunToKeep, out: Path, write_more: Callable[[Path], object] | None = None) -> dict[str, str]:
    """Write the files of a run into a directory, as `write_files` does for a result. Errors: RunError if the disk refuses."""
    files = {"oplog": str(out / OP_LOG), "result": str(out / RESULT), "critical_path": str(out / PATH)}
    if run.explanation is not None:
        files["utilisation"] = str(out / USAGE)

    def write(partial: Path) -> None:
        if write_more is not None:
            write_more(partial)
        for name, table in _make_tables(run).items():
            write_parquet(table, partial / name)
        write_json(tell_machine(run.session.machine), partial / MACHINE)
        write_json(run.energy, partial / ENERGY)
        if run.explanation is not None:
            run.explanation.utilisation_table().write_parquet(partial / USAGE)
        write_json({**run.summary, "files": files}, partial / RESULT)

    write_directory(out, write)
    return files


def _make_tables(run: RunToKeep) -> dict[str, polars.DataFrame]:
    """The op log, the critical path and what `kernbench web` draws beside, by file."""
    program, times = run.session.program, run.session.times
    row = order_rows(program, times.start_fs, times.end_fs)
    return {
        OP_LOG: build_log(program, *times, row),
        PATH: _path_with_rows(run.path, row, program.row_count),
        **make_view_tables(program, times, row),
    }


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
