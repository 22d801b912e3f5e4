"""Fields of a topology among what is set for a run.

A field is named by its path, `hbm.channel_gbs`, where fields stand alone. Among parameters `topology.` stands before it: in
grids, in columns of tables and behind `--set`. With that it is taken everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar, cast

from kernbench.errors import InputError, shorten

TOPOLOGY = "topology."

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
