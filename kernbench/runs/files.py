"""Files of a run: its op log and its metrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.atomic_output import RESULT, write_directory, write_json, write_parquet

if TYPE_CHECKING:
    from kernbench.runs.explanation import Explanation
    from kernbench.runs.result import RunResult
    from kernbench.runs.what_if import WhatIf

OP_LOG, PATH, USAGE = "oplog.parquet", "critical_path.parquet", "utilisation.parquet"


def write_files(
    result: RunResult, out: Path, explanation: Explanation | None = None, what_if: WhatIf | None = None
) -> dict[str, str]:
    """Write the op log and the figures of a run into a directory, made if missing; returns where they are, by what they are.

    With an explanation also its tables, and its sums among the figures; a what-if table is among the figures too.

    Errors: RunError if the disk refuses.
    """
    files = {"oplog": str(out / OP_LOG), "result": str(out / RESULT)}
    summary = {**result.to_dict(), "files": files}
    if explanation is not None:
        files |= {"critical_path": str(out / PATH), "utilisation": str(out / USAGE)}
        summary["explain"] = explanation.to_dict()
    if what_if is not None:
        summary["what_if"] = what_if.to_dict()

    def write(partial: Path) -> None:
        write_parquet(result.op_log(), partial / OP_LOG)
        if explanation is not None:
            explanation.path_table().write_parquet(partial / PATH)
            explanation.utilisation_table().write_parquet(partial / USAGE)
        write_json(summary, partial / RESULT)

    write_directory(out, write)
    return files
