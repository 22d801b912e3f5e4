"""Write several files to one directory atomically: all of them or none.

They are written beside the directory under another name and moved when complete, so a directory in `results/` never holds
half a run.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernbench.errors import RunError

RESULT = "result.json"


def refusals() -> tuple[type[Exception], ...]:
    """The exceptions of a failed write: of Python, and of polars, which wraps system errors."""
    polars = sys.modules.get("polars")
    return (OSError, polars.exceptions.ComputeError) if polars else (OSError,)


def reason_of(refusal: Exception) -> str:
    """The reason why a file could not be written."""
    return getattr(refusal, "strerror", None) or str(refusal)


def write_directory(out: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a directory beside `out`, then move its files there. Errors: RunError if a write fails."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as partial:
            write(Path(partial))
            out.mkdir(exist_ok=True)
            for file in sorted(Path(partial).iterdir()):
                file.replace(out / file.name)
    except refusals() as error:
        raise RunError(f"the run is done but {out} cannot be written: {reason_of(error)}; nothing was kept") from error


def write_json(summary: Mapping[str, Any], path: Path) -> None:
    """Write one JSON object, indented."""
    path.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
