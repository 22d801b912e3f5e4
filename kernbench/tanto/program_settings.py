"""Settings of a run that texts give: macros, and the first contents of buffers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.errors import InputError, shorten
from kernbench.tanto.device import read_buffer_file

if TYPE_CHECKING:
    import numpy as np

    from kernbench.tanto.program_file import ProgramSpec


def read_defines(texts: Iterable[str], given: str = "-D") -> dict[str, str]:
    """Macros by name from texts NAME=TEXT, or NAME for 1. Errors: InputError that begins with how they were given."""
    found = dict[str, str]()
    for text in texts:
        name, equals, value = text.partition("=")
        if not name.isidentifier():
            raise InputError(f"{given} {shorten(text)}: expected NAME=TEXT")
        found[name] = value if equals else "1"
    return found


def read_inputs(
    texts: Iterable[str], programs: Sequence[ProgramSpec] | None, given: str = "--in"
) -> dict[int, np.ndarray | bytes]:
    """The contents of buffers by id from texts ID=FILE.

    Errors: InputError for a bad id or file, a buffer that is given twice, or one that no program has; None: they are not known.
    """
    known = {one.id for program in programs or () for one in program.globals}
    found = dict[int, "np.ndarray | bytes"]()
    for text in texts:
        name, _, file = text.partition("=")
        try:
            number = int(name)
        except ValueError:
            raise InputError(f"{given} {shorten(text)}: expected ID=FILE with the number of a global buffer") from None
        if programs is not None and number not in known:
            none, have = ("no program has", "they have") if programs[1:] else ("the program has no", "it has")
            raise InputError(f"{given} {shorten(text)}: {none} global {number}; {have} {sorted(known) or 'none'}")
        if number in found:
            raise InputError(f"{given} {shorten(text)}: global {number} is given twice")
        found[number] = read_buffer_file(Path(file))
    return found
