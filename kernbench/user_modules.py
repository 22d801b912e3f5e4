"""Run Python files of users by path; they are never imported.

An exception of such a file becomes one sentence with the line that raised. All code of users comes through here, so a process
that may run some files alone, as a job of the viewer, is told here which: the variable KERNBENCH_CODE has what `permit`
returns. Nor does a command that only looks run them: what they declare is read from their text. Shipped files may always run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import traceback
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType

from kernbench.errors import InputError, KernBenchError, LimitError, RunError, error_text, uncover_interruption
from kernbench.library import is_file, is_shipped_code, show_path
from kernbench.limits.memory_budget import is_out_of_memory, tell_full

PERMITTED = "KERNBENCH_CODE"
_looks: ContextVar[bool] = ContextVar("looks", default=False)


@contextmanager
def looking() -> Generator[None]:
    """Run no file of the user in the block: who needs what one declares asks `is_read`, and reads its text."""
    token = _looks.set(True)
    try:
        yield
    finally:
        _looks.reset(token)


def is_read(path: Path) -> bool:
    """Whether a file is read here and not run: one that did not come with KernBench, in a block of `looking`."""
    return _looks.get() and not is_shipped_code(path)


def note_code(files: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of files by their whole paths; shipped ones and what is no file are left out."""
    own = {file.absolute() for file in files if is_file(file) and not is_shipped_code(file)}
    return {str(file): _digest(file.read_bytes()) for file in sorted(own)}


def permit(folders: Iterable[Path], digests: Iterable[str]) -> dict[str, str]:
    """The environment of a process that may run files which stand right in these folders and have one of these digests."""
    told = {"folders": [str(folder.resolve()) for folder in folders], "sha256": list(digests)}
    return {PERMITTED: json.dumps(told)}


def read_permitted(path: Path, what: str) -> bytes:
    """The text of a file that is to run. Errors: InputError for one that cannot be read, or that this process may not run."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {what} {show_path(path)}: {error.strerror}") from error
    if is_read(path):
        raise InputError(f"{what} {show_path(path)} would have to run, and to look at what there is runs nothing")
    _check_permitted(path, text, what)
    return text


def _check_permitted(path: Path, text: bytes, what: str) -> None:
    """Errors: InputError for a file that this process may not run."""
    if (told := os.environ.get(PERMITTED)) is None or is_shipped_code(path):
        return
    permitted = json.loads(told)
    if str(path.resolve().parent) not in permitted["folders"]:
        raise InputError(
            f"{what} {show_path(path)} stands in no folder whose files the viewer may run; if you trust its directory, "
            "start the viewer with --code and that directory"
        )
    if _digest(text) not in permitted["sha256"]:
        raise InputError(f"{what} {show_path(path)} is not the file that the run noted; run it again with --out")


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def execute(path: Path, kind: str, what: str) -> ModuleType:
    """The module of a file of a folder ("benches", "models"), run at each call; `what` is its name in messages.

    Errors: InputError with file:line for a file that cannot be read or raises, LimitError if memory is full; a KernBenchError
    of its own stays as it is.
    """
    module = ModuleType(f"kernbench_{kind}.{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and models look the module of their class up
    text = read_permitted(path, what)
    try:
        with uncover_interruption():
            exec(compile(text, path, "exec"), module.__dict__)
    except (KernBenchError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a user's file may raise anything
        if is_out_of_memory(error):
            raise LimitError(f"{what} {show_path(path)} does not load: {tell_full(error)}") from error
        raise InputError(f"{line_of(error, path)}: {error_text(error)}; the {what} does not load") from error
    return module


def imports_module(path: Path, name: str) -> bool:
    """Whether a line of a Python file imports a module of that name, also beside others."""
    if path.suffix != ".py" or not is_file(path):
        return False
    with suppress(OSError, UnicodeDecodeError):
        beside = r"(?:[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*)*"
        pattern = rf"^(?:[^#\n]*;)?[ \t]*(?:from[ \t]+|import[ \t]+{beside}){name}\b"
        return re.search(pattern, path.read_text(), re.MULTILINE) is not None
    return False


def raised(what: str, error: BaseException, at: str, kind: type[RunError] = RunError) -> RunError:
    """The error of a run in which code of a user raised at a line; a LimitError if memory is full."""
    if is_out_of_memory(error):
        return LimitError(f"{what}, at {at}: {tell_full(error)}")
    return kind(f"{what} raised {error_text(error)}, at {at}")


def line_of(error: BaseException, path: Path) -> str:
    """`file:line` of the innermost line of a file in a traceback; the file alone if it is not in the traceback."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{show_path(path)}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{show_path(path)}:{lines[-1]}" if lines else show_path(path)
