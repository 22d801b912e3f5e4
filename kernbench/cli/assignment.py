"""Parse `--set path=value`: a bench parameter by its name, a topology field by `topology.` and its dotted path.

Sweep files and the columns of their tables use the same names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernbench.errors import InputError, find_nearest
from kernbench.sweep.point import TOPOLOGY

if TYPE_CHECKING:
    from kernbench.runs.bench import Bench

FEW = 6  # of the topology fields, which are about a hundred


def split_assignments(assignments: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """(bench parameters, topology overrides), values as typed; the last of several for one name. Errors: InputError."""
    settings = read_assignments(assignments)
    parameters = {name: value for name, value in settings.items() if not name.startswith(TOPOLOGY)}
    overrides = {name.removeprefix(TOPOLOGY): value for name, value in settings.items() if name.startswith(TOPOLOGY)}
    return parameters, overrides


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


def check_parameters(names: Iterable[str], bench: Bench, topology: str) -> None:
    """Check the names of bench parameters. Errors: InputError for an unknown one, naming what `--set` may set."""
    unknown = [name for name in names if name not in bench.parameters]
    if not unknown:
        return
    from kernbench.machine.load import field_names

    fields = [TOPOLOGY + field for field in field_names(topology)]
    near = find_nearest(unknown[0], [*bench.parameters, *fields])
    raise InputError(
        f"bench {bench.name!r} has no parameter {unknown[0]!r}"
        f"{f'; did you mean {near!r}?' if near else ';'} "
        f"--set takes its parameters ({', '.join(bench.parameters) or 'none'}) "
        f"or fields of topology {topology!r} ({', '.join(fields[:FEW])} and {len(fields) - FEW} more)"
    )
