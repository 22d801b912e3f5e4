"""Errors of users: one class for each exit code and kind of failure.

Every error that a user can cause is a `KernBenchError` whose text is one sentence: the value, its place, and a remedy.
The exit code is part of the class: 2 for invalid input, 1 for a run or a check that failed. So is `code`, a word for
programs, which the response of a device carries back to the host.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

VALUE_CHARACTERS, PATH_CHARACTERS = 60, 300  # of what a sentence quotes


class KernBenchError(Exception):
    """Base of all errors with a message for the user; `exit_code` is that of the command line."""

    exit_code = 1
    code = "error"
    figures: Mapping[str, Any] | None = None  # what is known of a run that failed, for `--json`
    _response: Any = None

    @property
    def response(self) -> Any:
        """The device's `Response` that carried this error to a host call; None for an error of the host."""
        return self._response or getattr(self.__cause__, "response", None)

    def attach_response(self, response: Any) -> None:
        """Attach the device's response that carried this error."""
        self._response = response


class InputError(KernBenchError):
    """Invalid input: an unknown name, a bad value, a file that does not parse."""

    exit_code = 2
    code = "bad_input"


class RunError(KernBenchError):
    """A run could not finish, or a check of its numbers failed."""

    code = "run_failed"


class KernelError(RunError):
    """A kernel raised; the sentence names the kernel, its place in the machine and the line that raised."""

    code = "kernel_failed"


class DeadlockError(RunError):
    """No event is left but threads still wait; the sentence names each thread, what it waits for and since when."""

    code = "deadlock"


class LimitError(RunError):
    """A run exceeds a limit: of time, of operations, or of the memory of the computer that it runs on."""

    code = "limit"


class OutOfMemoryError(RunError, MemoryError):
    """A modelled memory has no free block of the requested size."""

    code = "out_of_memory"


class AddressError(RunError):
    """An access to an address without memory, or past the end of its memory."""

    code = "bad_address"


class UnreachableError(RunError):
    """No route from a source to a destination under an intent."""

    code = "unreachable"


@contextmanager
def uncover_interruption() -> Generator[None]:
    """Raise Ctrl-C or SIGTERM where the block raises another error because of it, as libraries do within their imports.

    What is raised while an interruption is cleaned up stays, if it has a sentence of its own.
    """
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or (None if isinstance(cause, KernBenchError) else cause.__context__)
        if cause is not None:
            raise cause from None
        raise


def message(error: BaseException) -> str:
    """The text of an error; of a user's error whose text raises, that it does."""
    try:
        return str(error.msg if isinstance(error, SyntaxError) else error)
    except (Exception, SystemExit) as again:  # `__str__` of a user's class may raise anything
        return f"its text raises {type(again).__name__}"


def error_text(error: BaseException) -> str:
    """The type of an error and its text, on one line."""
    return f"{type(error).__name__}: {' '.join(message(error).split())}".removesuffix(": ")


def suggest(got: str, known: Iterable[str], *, most: int = 12) -> str:
    """The tail of an unknown-name sentence: the nearest known name if there is one, and the known names."""
    names = sorted(set(known))
    if not names:
        return "; none are known"
    shown = ", ".join(name or '""' for name in names[:most]) + (
        f" and {len(names) - most} more" if len(names) > most else ""
    )
    near = find_nearest(got, names)
    return f"; did you mean {near!r}? Known: {shown}" if near else f"; known: {shown}"


def find_nearest(got: str, known: Iterable[str]) -> str | None:
    """The known name nearest to a misspelt one: the same but for capitals, else a close match; None if there is none."""
    names = sorted(set(known))
    same = [name for name in names if name.lower() == got.lower()]
    return next(iter([*same, *get_close_matches(got, names, n=1)]), None)


def shorten(value: object) -> str:
    """A value, or a path, as a text that a sentence can hold."""
    text, most = str(value), PATH_CHARACTERS if isinstance(value, Path) else VALUE_CHARACTERS
    return text if len(text) <= most else text[: most - 3] + "..."
