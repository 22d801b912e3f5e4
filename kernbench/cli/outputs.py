"""The files of a run: all of them or none.

They are written beside their place under another name and moved there when complete, so a directory in `results/` never
holds half a run, whatever happens in between.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, RunError

if TYPE_CHECKING:
    from kernbench.host.run import RunResult

OP_LOG, RESULT = "oplog.parquet", "result.json"


def check_directory(out: Path) -> None:
    """Errors: InputError if files cannot be written there; asked before a run, not after it."""
    standing = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not standing.is_dir():
        raise InputError(f"--out takes a directory, and {standing} is a file")
    try:
        tempfile.TemporaryFile(dir=standing).close()
    except OSError as error:
        raise InputError(
            f"--out cannot be in {standing}: {error.strerror}; give a directory you may write to"
        ) from None


def file_names(out: Path) -> dict[str, str]:
    """Where the files of a run go, by what they are."""
    return {"oplog": str(out / OP_LOG), "result": str(out / RESULT)}


def write_files(result: RunResult, summary: Mapping[str, Any], out: Path) -> None:
    """Write the op log and the summary of a run into a directory, made if missing. Errors: RunError if the disk refuses."""
    try:
        _write(result, summary, out)
    except OSError as error:
        raise RunError(f"the run is done but {out} cannot be written: {error.strerror}; nothing was kept") from error


def _write(result: RunResult, summary: Mapping[str, Any], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as partial:
        result.op_log().write_parquet(Path(partial, OP_LOG))
        Path(partial, RESULT).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        out.mkdir(exist_ok=True)
        for name in (OP_LOG, RESULT):
            Path(partial, name).replace(out / name)
