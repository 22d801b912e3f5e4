"""Parse `--set path=value`: a bench parameter by its name, a topology field by `topology.` and its dotted path.

Sweep files and the columns of their tables use the same names.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernbench.errors import InputError
from kernbench.machine.overrides import read_overrides, split_settings


def split_assignments(assignments: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """(bench parameters, topology overrides), values as typed; the last of several for one name. Errors: InputError."""
    return split_settings(read_assignments(assignments))


def read_fields(assignments: Iterable[str]) -> dict[str, str]:
    """Fields of a topology, where nothing else may be set, with or without `topology.`. Errors: InputError."""
    return read_overrides(read_assignments(assignments))


def read_assignments(assignments: Iterable[str]) -> dict[str, str]:
    """The values of parameters and fields by name, as typed; the last of several for one name. Errors: InputError."""
    settings: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = (part.strip() for part in assignment.partition("="))
        if not (name and equals and value):
            raise InputError(
                f"--set takes path=value, such as M=256 or topology.hbm.channel_gbs=64, and got {assignment!r}"
            )
        settings[name] = value
    return settings
