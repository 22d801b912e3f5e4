"""Machines that differ in times alone: in bandwidths, overheads, clocks and rates, but not in counts or wiring.

Most points of a sweep differ so. Such a machine is a variant of a compiled one (see `variant`). Making it takes microseconds
instead of the milliseconds of compiling.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernbench import library
from kernbench.machine.load import load_machine, load_spec
from kernbench.machine.machine import Machine
from kernbench.machine.variant import make_variant
from kernbench.schema.model import Model
from kernbench.schema.topology import override


class Variants:
    """Makes machines that differ from `base` only in `fields`, the dotted paths of fields that decide times alone.

    `base` is the machine of `topology` with the overrides `structure`. Errors: as `load_machine`.
    """

    def __init__(self, topology: str | Path, structure: Mapping[str, object]) -> None:
        self.base = load_machine(topology, structure)
        self._path, self._structure = library.find("topology", topology), dict(structure)
        self._spec: Any = load_spec(self._path, self._structure)
        self.fields = self.base.origins().fields

    def value(self, path: str, value: object) -> float:
        """A value of one of `fields` as a number in the field's unit. Errors: as `machine`."""
        section, _, name = path.partition(".")
        return float(getattr(self._sections({path: value})[section], name))

    def machine(self, values: Mapping[str, object]) -> Machine | None:
        """The machine with these values of fields, as a user types them; None if a field is not among `fields`.

        Errors: InputError for a value that the field cannot have, with the sentence of `load_machine`.
        """
        if not values.keys() <= self.fields:
            return None
        sections = self._sections(values)
        numbers = {path: float(getattr(sections[path.partition(".")[0]], path.partition(".")[2])) for path in values}
        changed = {path for path, number in numbers.items() if number != self.base.figures[path]}
        return make_variant(self.base, {path: numbers[path] for path in sorted(changed)})

    def _sections(self, values: Mapping[str, object]) -> dict[str, Model]:
        """The sections of the topology with changed fields, checked."""
        given: dict[str, dict[str, Any]] = {}
        for path, value in values.items():
            section, _, name = path.partition(".")
            given.setdefault(section, {})[name] = override(path, value).plain() if isinstance(value, str) else value
        try:
            return {name: _with(getattr(self._spec, name), changed) for name, changed in given.items()}
        except ValidationError:
            load_spec(self._path, {**self._structure, **values})  # raises the sentence for users
            raise


def _with(section: Model, values: Mapping[str, Any]) -> Model:
    return type(section).model_validate({**dict(section), **values})
