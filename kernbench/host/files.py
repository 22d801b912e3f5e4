"""The files of a run: all of them or none.

They are written beside their place under another name and moved there when complete, so a directory in `results/` never
holds half a run, whatever happens in between.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.errors import RunError

if TYPE_CHECKING:
    from kernbench.host.result import RunResult

OP_LOG, RESULT = "oplog.parquet", "result.json"


def write_files(result: RunResult, out: Path) -> dict[str, str]:
    """Write the op log and the figures of a run into a directory, made if missing; returns where they are, by what they are.

    Errors: RunError if the disk refuses.
    """
    files = {"oplog": str(out / OP_LOG), "result": str(out / RESULT)}
    summary = json.dumps({**result.to_dict(), "files": files}, indent=2) + "\n"
    try:
        _write(result, summary, out)
    except OSError as error:
        raise RunError(f"the run is done but {out} cannot be written: {error.strerror}; nothing was kept") from error
    return files


def _write(result: RunResult, summary: str, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as partial:
        result.op_log().write_parquet(Path(partial, OP_LOG))
        Path(partial, RESULT).write_text(summary, encoding="utf-8")
        out.mkdir(exist_ok=True)
        for name in (OP_LOG, RESULT):
            Path(partial, name).replace(out / name)
