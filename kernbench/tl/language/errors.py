"""Errors of kernels: one sentence each, with the file:line in the kernel.

The classes also derive from the plain Python errors that the kernel language documents, so a kernel may catch those.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from kernbench.errors import KernBenchError, KernelError, LimitError
from kernbench.library import show_path
from kernbench.limits.time_limit import REMEDY, TimeLimitReached
from kernbench.user_modules import raised

_OWN = tuple(str(Path(__file__).parents[2] / name) for name in ("tl", "triton"))  # languages of kernels


class CompositeError(KernelError, ValueError):
    """An op or an epilogue that no composite can do."""


class ScratchError(KernelError, RuntimeError):
    """A kernel's results do not fit its scratch memory."""

    code = "scratch_full"


class PrimitiveError(KernelError, AttributeError):
    """`tl` has no primitive of that name."""


class NoContextError(KernelError, RuntimeError):
    """A tensor operator was used outside a running kernel."""


def fail(problem: str, remedy: str, kind: type[KernelError] = KernelError) -> NoReturn:
    """Raise `problem, at <kernel line>; remedy`."""
    raise kind(f"{problem}, at {kernel_line()}; {remedy}")


def kernel_line() -> str:
    """file:line of the nearest caller outside this package."""
    return show_place(kernel_place())


def kernel_place() -> tuple[str, int]:
    """The file and the line of the nearest caller outside this package; no file without one."""
    frame = inspect.currentframe()
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def show_place(place: tuple[str, int]) -> str:
    """file:line of a place as of `kernel_place`."""
    return _place(*place) if place[0] else "an unknown line"


def is_own(file: str) -> bool:
    """Whether a file belongs to a language of kernels, not to a kernel."""
    return file.startswith(_OWN)


def raising_line(error: BaseException, fn: Callable[..., object]) -> str:
    """file:line of the innermost frame in the kernel's file; the kernel's `def` if it was not entered."""
    code = getattr(inspect.unwrap(fn), "__code__", None)
    if code is None:
        return "an unknown line"
    line, traceback = code.co_firstlineno, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == code.co_filename:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return _place(code.co_filename, line)


@contextmanager
def naming(kernel: str, fn: Callable[..., object], passed: tuple[type[Exception], ...] = ()) -> Generator[None]:
    """Name the kernel and its line in what the block raises; exceptions of `passed` stay as they are.

    Errors: KernelError, of the same class for an error of the kernel language; LimitError for a limit of the run.
    """
    try:
        yield
    except passed:
        raise
    except TimeLimitReached as reached:
        raise LimitError(f"{kernel}, at {raising_line(reached, fn)}: {reached}; {REMEDY}") from reached
    except LimitError as error:
        raise LimitError(f"{kernel}, at {raising_line(error, fn)}: {error}") from error
    except KernelError as error:  # it names its line
        raise type(error)(f"{kernel}: {error}") from error
    except KernBenchError as error:
        raise KernelError(f"{kernel}, at {raising_line(error, fn)}: {error}") from error
    except (Exception, SystemExit) as error:  # a user's kernel may raise anything
        raise raised(kernel, error, raising_line(error, fn), KernelError) from error


def _place(file: str, line: int) -> str:
    return f"{show_path(file)}:{line}"
