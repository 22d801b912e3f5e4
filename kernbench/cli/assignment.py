"""What `--set path=value` says: a bench parameter by its name, a topology field by `topology.` before its dotted path.

The same spelling serves sweep files and the columns of their tables.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernbench.errors import InputError
from kernbench.sweep.point import TOPOLOGY


def split_assignments(assignments: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """(bench parameters, topology overrides), values as typed; of one name set twice the last. Errors: InputError."""
    parameters: dict[str, str] = {}
    overrides: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = (part.strip() for part in assignment.partition("="))
        if not (name and equals and value):
            raise InputError(
                f"--set takes path=value, such as M=256 or topology.hbm.channel_gbs=64, and got {assignment!r}"
            )
        if name.startswith(TOPOLOGY):
            overrides[name.removeprefix(TOPOLOGY)] = value
        else:
            parameters[name] = value
    return parameters, overrides
