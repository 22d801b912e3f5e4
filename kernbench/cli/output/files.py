"""Where output goes: checks before a run, and after it what was written."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernbench.atomic_output import FULL
from kernbench.characters import check_characters
from kernbench.cli.output.screen import say
from kernbench.errors import InputError, RunError, shorten

TRACE = "trace"  # how the names of traces among files begin
PERFETTO = ".pftrace"


def show_files(files: Mapping[str, str | Path | list[str]]) -> None:
    """Print the files that were written, by their names; a value is a path or a list of them."""
    for name, made in files.items():
        for path in made if isinstance(made, list) else [made]:
            say(f"wrote {path}{_tell_format(Path(path)) if name.startswith(TRACE) else ''}")


def _tell_format(trace: Path) -> str:
    """What a trace is, since its name may say something else."""
    opens = "open it at https://ui.perfetto.dev"
    if trace.suffix == PERFETTO:
        return f"; {opens}"
    return f", which has Perfetto's binary format, whatever {trace.suffix or 'its name'} says; {opens}"


def check_directory(out: Path) -> None:
    """Check, before a run, that files can be written to a directory.

    Errors: RunError if the disk is full, InputError if they cannot for another reason.
    """
    _check(out, "--out", "directory")


def check_forms(forms: Sequence[str], out: Path | None) -> None:
    """Check that tables are kept where `--format` asks for more forms of them. Errors: InputError."""
    if forms and out is None:
        raise InputError("--format says in which forms tables are kept too; give --out DIRECTORY with it")


def check_file(file: Path, option: str) -> None:
    """Check, before a run, that a file can be written; `option` is its name in messages. Errors: as `check_directory`."""
    check_characters(str(file), f"the file of {option}")
    try:
        is_directory = file.is_dir()
    except OSError as error:
        raise InputError(f"{option} cannot be {shorten(file)}: {error.strerror}; give another file") from None
    if is_directory:
        raise InputError(f"{option} takes a file, and {shorten(file)} is a directory")
    _check(file.absolute().parent, option, "file in a directory")


def _check(directory: Path, option: str, what: str) -> None:
    existing = Path(check_characters(str(directory), f"the directory of {option}"))
    try:
        existing = next(path for path in (directory, *directory.absolute().parents) if path.exists())
        if not existing.is_dir():
            raise InputError(f"{option} takes a {what}, and {existing} is a file")
        tempfile.TemporaryFile(dir=existing).close()
    except OSError as error:
        kind = RunError if error.errno in FULL else InputError
        raise kind(
            f"{option} cannot be in {shorten(existing)}: {error.strerror}; give a directory you may write to"
        ) from None
