"""Fields of a topology among what is set for a run.

A field is named by its path, `hbm.channel_gbs`, where fields stand alone. Among parameters `topology.` stands before it: in
grids, in columns of tables and behind `--set`. With that it is taken everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeVar, cast

from kernbench.errors import InputError, find_nearest, shorten

TOPOLOGY = "topology."
FEW = 6  # of the fields, which are about a hundred

Setting = TypeVar("Setting")
Keys = Iterable[object]


def read_overrides(given: Mapping[str, Setting] | None) -> dict[str, Setting]:
    """Overrides by their paths.

    Errors: InputError for what is no mapping of names, or a field that is given by its path and by its name.
    """
    _check_mapping(given, "overrides", "hbm.channel_gbs")
    found: dict[str, Setting] = {}
    for name, value in (given or {}).items():
        path = name.removeprefix(TOPOLOGY)
        if path.startswith(TOPOLOGY):
            raise InputError(f"{name!r} has {TOPOLOGY!r} twice; give {TOPOLOGY + path.removeprefix(TOPOLOGY)!r}")
        if path in found:
            raise InputError(f"the field {path!r} is given as {path!r} and as {TOPOLOGY + path!r}; give it once")
        found[path] = value
    return found


def split_settings(
    settings: Mapping[str, Setting] | None, overrides: Mapping[str, Setting] | None = None
) -> tuple[dict[str, Setting], dict[str, Setting]]:
    """Parameters, and overrides by their paths, with the fields among the settings. Errors: as `read_overrides`."""
    _check_mapping(settings, "parameters", "M")
    _check_mapping(overrides, "overrides", "hbm.channel_gbs")
    fields = {name: value for name, value in (settings or {}).items() if name.startswith(TOPOLOGY)}
    parameters = {name: value for name, value in (settings or {}).items() if name not in fields}
    both = [(name, value) for each in (overrides, fields) for name, value in (each or {}).items()]
    if len(both) > len(dict(both)):
        twice = next(name for name in fields if name in (overrides or {}))
        raise InputError(f"the field {twice!r} is given among the parameters and as an override; give it once")
    return parameters, read_overrides(dict(both))


def _check_mapping(given: object, name: str, example: str) -> None:
    if given is None or (isinstance(given, Mapping) and all(isinstance(one, str) for one in cast("Keys", given))):
        return
    raise InputError(
        f"{name} must map names to values, as {{{example!r}: 64}}; got {shorten(repr(cast('object', given)))}"
    )


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
    from kernbench.machine.load import field_names

    fields = [TOPOLOGY + field for field in field_names(topology)]
    takes = f"{option} takes" if option.startswith("-") else "give"
    near = find_nearest(unknown[0], [*known, *fields])
    raise InputError(
        f"{owner} has no {kind} {shorten(unknown[0])!r}{f'; did you mean {near!r}?' if near else ';'} "
        f"{takes} its {kind}s ({', '.join(known) or 'none'}) "
        f"or fields of topology {str(topology)!r} ({', '.join(fields[:FEW])} and {len(fields) - FEW} more)"
    )


def check_fields(paths: Iterable[str], parameters: Collection[str], topology: str | Path, *, owner: str) -> None:
    """Check that no field is a parameter of `owner` instead. Errors: InputError, saying where it belongs."""
    for path in paths:
        if path not in parameters:
            continue
        from kernbench.machine.load import field_names

        if path not in field_names(topology):
            raise InputError(
                f"{path!r} is a parameter of {owner} and no field of topology {str(topology)!r}; "
                f"give it as {path!r} among the parameters"
            )
