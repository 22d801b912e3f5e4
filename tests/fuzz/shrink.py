"""Make a case smaller that keeps its finding: fewer files, arguments, lines, then characters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic

from tests.fuzz.case import Case


def shrink(case: Case, fails: Callable[[Case], bool], seconds: float = 60) -> Case:
    """The smallest case found within a time for which `fails` holds, as it does for the given one."""
    ends = monotonic() + seconds
    found = True
    while found:
        found = False
        for smaller in list_smaller(case):
            if monotonic() > ends:
                return case
            if fails(smaller):
                case, found = smaller, True
                break
    return case


def list_smaller(case: Case) -> Iterator[Case]:
    """Cases with a little less, those that leave out most first."""
    for name in case.files:
        yield replace(case, files={other: content for other, content in case.files.items() if other != name})
    for name in case.environment:
        yield replace(case, environment={n: value for n, value in case.environment.items() if n != name})
    for size in (4, 2, 1):
        for at in range(len(case.arguments) - size + 1):
            yield replace(case, arguments=case.arguments[:at] + case.arguments[at + size :])
    for name, content in case.files.items():
        if b"\0" in content[:100]:
            continue
        for less in _less(content.splitlines(keepends=True)):
            yield replace(case, files={**case.files, name: b"".join(less)})
        if len(content) < 2000:
            for less in _less([content[at : at + 1] for at in range(len(content))], at_least=4):
                yield replace(case, files={**case.files, name: b"".join(less)})
    for at, word in enumerate(case.arguments):
        for less in _less([*word]):
            yield replace(case, arguments=(*case.arguments[:at], "".join(less), *case.arguments[at + 1 :]))


def _less(parts: list, at_least: int = 1) -> Iterator[list]:
    """Without half of them, without a quarter ... without one, or without so many."""
    size = len(parts) // 2
    while size >= at_least:
        for at in range(0, len(parts), size):
            yield parts[:at] + parts[at + size :]
        size //= 2
