"""Run Python files of users by path; they are never imported.

An exception of such a file becomes one sentence with the line that raised.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import ModuleType

from kernbench.errors import InputError, KernBenchError, LimitError, RunError, error_text, uncover_interruption
from kernbench.library import show_path
from kernbench.limits.memory_budget import is_out_of_memory, tell_full


def execute(path: Path, kind: str, what: str) -> ModuleType:
    """The module of a file of a folder ("benches", "models"), run at each call; `what` is its name in messages.

    Errors: InputError with file:line for a file that cannot be read or raises, LimitError if memory is full; a KernBenchError
    of its own stays as it is.
    """
    module = ModuleType(f"kernbench_{kind}.{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and models look the module of their class up
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {what} {show_path(path)}: {error.strerror}") from error
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
