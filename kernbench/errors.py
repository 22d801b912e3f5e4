"""What can go wrong, as the user hears it.

Every error a user can cause is a `KernBenchError` whose text is one sentence: what was got, where, and what would do.
The exit code is part of the class: 2 for input that cannot be used, 1 for a run or a check that failed. So is `code`, a word
for programs, which a device's answer carries back to the host.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class KernBenchError(Exception):
    """Base of all errors worded for the user; `exit_code` is what the command line returns."""

    exit_code = 1
    code = "error"
    _response: Any = None

    @property
    def response(self) -> Any:
        """The device's answer (a `Response`) that brought this error to a host call; None for an error of the host."""
        return self._response or getattr(self.__cause__, "response", None)

    def attach_response(self, response: Any) -> None:
        """Note the device's answer that brought this error."""
        self._response = response


class InputError(KernBenchError):
    """The input cannot be used: an unknown name, a bad figure, a file that does not parse."""

    exit_code = 2
    code = "bad_input"


class RunError(KernBenchError):
    """A run that started could not finish, or a check of its numbers failed."""

    code = "run_failed"


class KernelError(RunError):
    """A kernel raised; the sentence names the kernel, its place in the machine and the line that raised."""

    code = "kernel_failed"


class DeadlockError(RunError):
    """Nothing can happen any more but threads still wait; the sentence names each, what it waits for and since when."""

    code = "deadlock"


class OutOfMemoryError(RunError, MemoryError):
    """A memory has no free block of the size asked for."""

    code = "out_of_memory"


class AddressError(RunError):
    """An access to an address behind which there is no memory, or that runs out of what is there."""

    code = "bad_address"


class UnreachableError(RunError):
    """No route leads from a source to a destination under an intent."""

    code = "unreachable"


def suggest(got: str, known: Iterable[str], *, most: int = 12) -> str:
    """The tail of an unknown-name sentence: the nearest known name if there is one, and the known names."""
    names = sorted(set(known))
    if not names:
        return "; none are known"
    shown = ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
    near = find_nearest(got, names)
    return f"; did you mean {near!r}? Known: {shown}" if near else f"; known: {shown}"


def find_nearest(got: str, known: Iterable[str]) -> str | None:
    """The known name that is meant, as far as its letters tell: the same but for capitals, else the nearest if one is near."""
    names = sorted(set(known))
    same = [name for name in names if name.lower() == got.lower()]
    return next(iter([*same, *get_close_matches(got, names, n=1)]), None)
