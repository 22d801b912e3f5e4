"""Check of the output directory."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kernbench.atomic_output import FULL
from kernbench.characters import check_characters
from kernbench.errors import InputError, RunError, shorten


def check_directory(out: Path) -> None:
    """Check, before a run, that files can be written to a directory.

    Errors: RunError if the disk is full, InputError if they cannot for another reason.
    """
    existing = Path(check_characters(str(out), "the directory of --out"))
    try:
        existing = next(path for path in (out, *out.absolute().parents) if path.exists())
        if not existing.is_dir():
            raise InputError(f"--out takes a directory, and {existing} is a file")
        tempfile.TemporaryFile(dir=existing).close()
    except OSError as error:
        kind = RunError if error.errno in FULL else InputError
        raise kind(
            f"--out cannot be in {shorten(existing)}: {error.strerror}; give a directory you may write to"
        ) from None
