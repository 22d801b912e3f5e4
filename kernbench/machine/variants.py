"""Machines that differ in figures alone: bandwidths, overheads, clocks and rates, but nothing that is counted or wired.

Most points of a sweep are of this kind. Such a machine is made from one that is compiled already: only the times that come
from the changed fields are worked out anew (`origins` knows which), so it takes microseconds where compiling takes
milliseconds, and it keeps the routes of the other under the same numbers. What is made so is held against a machine compiled
in full when a field is changed for the first time. A field that does not prove itself (of a part dropped in by somebody, for
example) makes no variants.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from kernbench import library
from kernbench.machine.load import compile_machine, load_machine, load_spec
from kernbench.machine.machine import Machine
from kernbench.machine.origins import Origin
from kernbench.schema.model import Model
from kernbench.schema.topology import override

_OWN = {"digest", "costs", "places", "routing", "node_id", "server_id", "_origins", "_csr", "_weights"}  # not compared


class Variants:
    """The machines that are as `base` but for figures. `fields`: the dotted paths that may differ.

    `base` is the machine of `topology` with the overrides `structure`. Errors: as `load_machine`.
    """

    def __init__(self, topology: str | Path, structure: Mapping[str, object]) -> None:
        self.base = load_machine(topology, structure)
        self._path, self._structure = library.find("topology", topology), dict(structure)
        self._spec: Any = load_spec(self._path, self._structure)
        self._origins = self.base.origins()
        self._proved: set[str] = set()
        self._refuted: set[str] = set()

    @property
    def fields(self) -> frozenset[str]:
        """What may differ, as far as is known."""
        return self._origins.fields - self._refuted

    @property
    def proved(self) -> frozenset[str]:
        """The fields that have been held against a machine compiled in full."""
        return frozenset(self._proved)

    def value(self, path: str, value: object) -> float:
        """A value of one of `fields` as a number in the field's unit. Errors: as `machine`."""
        section, _, name = path.partition(".")
        return float(getattr(self._sections({path: value})[section], name))

    def machine(self, figures: Mapping[str, object]) -> Machine | None:
        """The machine with these values of `fields`, as typed; None if it has to be compiled by itself after all.

        Errors: InputError for a value that the field cannot have, as `load_machine` words it.
        """
        if not figures.keys() <= self.fields:
            return None
        sections = self._sections(figures)
        values = {path: float(getattr(sections[path.partition(".")[0]], path.partition(".")[2])) for path in figures}
        changed = {path for path, value in values.items() if value != self.base.figures[path]}
        made = self._make(sections, {path: values[path] for path in sorted(changed)})
        unproved = changed - self._proved
        if unproved:
            compiled = compile_machine(self._path, {**self._structure, **figures})
            if not _equal(made, compiled):
                self._refuted |= unproved
                return None
            self._proved |= unproved
        return made

    def _sections(self, figures: Mapping[str, object]) -> dict[str, Model]:
        """The groups of fields that change, checked."""
        given: dict[str, dict[str, Any]] = {}
        for path, value in figures.items():
            section, _, name = path.partition(".")
            given.setdefault(section, {})[name] = override(path, value).plain() if isinstance(value, str) else value
        try:
            return {name: _with(getattr(self._spec, name), values) for name, values in given.items()}
        except ValidationError:
            load_spec(self._path, {**self._structure, **figures})  # says what is wrong with them
            raise

    def _make(self, sections: Mapping[str, Any], values: Mapping[str, float]) -> Machine:
        base, origins = self.base, self._origins
        made = copy.copy(base)
        named = {f"{part}.{name}": fs for part, section in sections.items() for name, fs in section.figures().items()}
        made.figures = {**base.figures, **named}
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

    def _terminals(self, values: Mapping[str, float]) -> dict[int, Any]:
        origins, found = self._origins, dict(self.base.terminals)
        for node, terminal in found.items():
            at = int(origins.overhead[terminal.first_station])
            if at >= 0 and origins.known[at].field in values:
                origin = origins.known[at]
                found[node] = type(terminal)(
                    terminal.first_station, terminal.stripes, _fs(origin, values[origin.field])
                )
        return found


def _with(section: Any, values: Mapping[str, Any]) -> Any:
    return type(section).model_validate({**dict(section), **values})


def _fs(origin: Origin, value: float, amount: int = 1) -> int:
    return int(np.rint(origin.fs(np.array(value), amount)))


def _equal(one: Machine, other: Machine) -> bool:
    names = (field.name for field in fields(Machine) if field.name not in _OWN)
    return all(_same(getattr(one, name), getattr(other, name)) for name in names)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, tuple) and any(isinstance(item, np.ndarray) for item in one):
        return all(map(np.array_equal, one, other))
    return one == other
