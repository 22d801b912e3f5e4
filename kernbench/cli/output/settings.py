"""What a run was given, for the first line of what is printed of it."""

from __future__ import annotations

from collections.abc import Mapping


def tell_settings(
    parameters: Mapping[str, object], defaults: Mapping[str, object], overrides: Mapping[str, object]
) -> str:
    """What was set: the parameters that are not as by default, and the fields of the topology, as `--set` takes them."""
    changed = {name: value for name, value in parameters.items() if value != defaults.get(name)}
    fields = {f"topology.{path}": value for path, value in overrides.items()}
    return "".join(f"  {name}={value}" for name, value in {**changed, **fields}.items())
