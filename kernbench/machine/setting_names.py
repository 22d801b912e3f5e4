"""Checks of the names of what is set for a run: parameters of what runs, and fields of its topology."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from kernbench.errors import InputError, find_nearest, shorten
from kernbench.machine.load import field_names
from kernbench.machine.overrides import TOPOLOGY

FEW = 6  # of the fields, which are about a hundred


def check_names(
    names: Iterable[str],
    known: Collection[str],
    topology: str | Path,
    *,
    owner: str,
    option: str,
    kind: str = "parameter",
) -> None:
    """Check the names of what is set of `owner`. Errors: InputError for an unknown one, naming what `option` takes."""
    unknown = [name for name in names if name not in known]
    if not unknown:
        return
    fields = [TOPOLOGY + field for field in field_names(topology)]
    takes = f"{option} takes" if option.startswith("-") else "give"
    near = find_nearest(unknown[0], [*known, *fields])
    raise InputError(
        f"{owner} has no {kind} {shorten(unknown[0])!r}{f'; did you mean {near!r}?' if near else ';'} "
        f"{takes} its {kind}s ({', '.join(known) or 'none'}) "
        f"or fields of topology {str(topology)!r} ({', '.join(fields[:FEW])} and {len(fields) - FEW} more)"
    )


def refuse_parameters(paths: Iterable[str], parameters: Collection[str], topology: str | Path, *, owner: str) -> None:
    """Check that no field is a parameter of `owner` instead. Errors: InputError, saying where it belongs."""
    for path in paths:
        if path not in parameters:
            continue
        if path not in field_names(topology):
            raise InputError(
                f"{path!r} is a parameter of {owner} and no field of topology {str(topology)!r}; "
                f"give it as {path!r} among the parameters"
            )
