"""Python files that users drop into folders: run by path, never imported.

What such a file raises is told as one sentence with the line of the file that raised.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import ModuleType

from kernbench.errors import InputError, KernBenchError
from kernbench.library import show_path


def execute(path: Path, kind: str, what: str) -> ModuleType:
    """The module that a file of a folder ("benches", "models") makes, run anew at each call; `what` is what messages call it.

    Errors: InputError with file:line for a file that cannot be read or raises; a KernBenchError of its own stays as it is.
    """
    module = ModuleType(f"kernbench_{kind}.{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and models look the module of their class up
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {what} {show_path(path)}: {error.strerror}") from error
    try:
        exec(compile(text, path, "exec"), module.__dict__)
    except KernBenchError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{line_of(error, path)}: {error_text(error)}; the {what} does not load") from error
    return module


def error_text(error: BaseException) -> str:
    """The type of an error and what it says, on one line."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {' '.join(str(text).split())}"


def line_of(error: BaseException, path: Path) -> str:
    """`file:line` of the innermost line of a file in a traceback; the file alone if it is not in it."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{show_path(path)}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{show_path(path)}:{lines[-1]}" if lines else show_path(path)
