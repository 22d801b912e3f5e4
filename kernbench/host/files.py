"""The files of a run: its op log, its figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.directory import RESULT, write_directory, write_json

if TYPE_CHECKING:
    from kernbench.host.result import RunResult

OP_LOG = "oplog.parquet"


def write_files(result: RunResult, out: Path) -> dict[str, str]:
    """Write the op log and the figures of a run into a directory, made if missing; returns where they are, by what they are.

    Errors: RunError if the disk refuses.
    """
    files = {"oplog": str(out / OP_LOG), "result": str(out / RESULT)}
    summary = {**result.to_dict(), "files": files}

    def write(partial: Path) -> None:
        result.op_log().write_parquet(partial / OP_LOG)
        write_json(summary, partial / RESULT)

    write_directory(out, write)
    return files
