"""Where a command may leave files."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kernbench.errors import InputError


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
