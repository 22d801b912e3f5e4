"""Several files at once in one directory: all of them or none.

They are written beside their place under another name and moved there when complete, so a directory in `results/` never
holds half a run, whatever happens in between.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernbench.errors import RunError

RESULT = "result.json"


def write_directory(out: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a directory beside `out`, then move its files there. Errors: RunError if the disk refuses."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as partial:
            write(Path(partial))
            out.mkdir(exist_ok=True)
            for file in sorted(Path(partial).iterdir()):
                file.replace(out / file.name)
    except OSError as error:
        raise RunError(f"the run is done but {out} cannot be written: {error.strerror}; nothing was kept") from error


def write_json(summary: Mapping[str, Any], path: Path) -> None:
    """Write one JSON object, for people too."""
    path.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
