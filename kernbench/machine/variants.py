"""Machines that differ in times alone: in bandwidths, overheads, clocks and rates, but not in counts or wiring.

Most points of a sweep differ so. Such a machine is a copy of a compiled one in which the times of the changed fields are
computed again, from their origins (see `field_provenance`). That takes microseconds instead of the milliseconds of compiling,
and the copy keeps the routes under the same ids.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from kernbench import library
from kernbench.components.derived import Origin
from kernbench.machine.load import load_machine, load_spec
from kernbench.machine.machine import Machine, Terminal
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
        self._origins = self.base.origins()
        self.fields = self._origins.fields

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
        return self._make(sections, {path: numbers[path] for path in sorted(changed)})

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

    def _make(self, sections: Mapping[str, Any], values: Mapping[str, float]) -> Machine:
        base, origins = self.base, self._origins
        made = copy.copy(base)
        named = {f"{part}.{name}": fs for part, section in sections.items() for name, fs in section.figures().items()}
        made.figures = {**base.figures, **named}
        made.overrides = {**base.overrides, **values}
        made.digest = hashlib.sha256(f"{base.digest}\n{values}".encode()).hexdigest()
        made.edge_gbs, made.node_overhead_fs = base.edge_gbs.copy(), base.node_overhead_fs.copy()
        service, turn = base.stations.fs_per_flit.copy(), base.stations.turn_fs.copy()
        for at, origin in enumerate(origins.known):
            if origin.field not in values:
                continue
            value = values[origin.field]
            stations = np.flatnonzero(origins.service == at)
            service[stations] = _fs(origin, value, base.flit_bytes)
            turn[origins.turn == at] = _fs(origin, value)
            made.node_overhead_fs[origins.node == at] = _fs(origin, value)
            made.edge_gbs[stations[stations < base.edge_count]] = value * (origin.factor or 1)
        made.stations = base.stations._replace(fs_per_flit=service, turn_fs=turn)
        made.terminals = self._terminals(values)
        made.routing = base.routing.on(made)
        return made

    def _terminals(self, values: Mapping[str, float]) -> dict[int, Terminal]:
        origins, found = self._origins, dict(self.base.terminals)
        for node, terminal in found.items():
            at = int(origins.overhead[terminal.first_station])
            if at >= 0 and origins.known[at].field in values:
                origin = origins.known[at]
                found[node] = Terminal(terminal.first_station, terminal.stripes, _fs(origin, values[origin.field]))
        return found


def _with(section: Model, values: Mapping[str, Any]) -> Model:
    return type(section).model_validate({**dict(section), **values})


def _fs(origin: Origin, value: float, amount: int = 1) -> int:
    return int(np.rint(origin.fs(np.array(value), amount)))
