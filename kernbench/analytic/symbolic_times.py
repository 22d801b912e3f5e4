"""The times that bounds add up.

A bound is a *form*: how many of each of a few *atoms* it adds up. An atom is a time that the machine's compiler rounds to
whole femtoseconds: the service of a flit of some bytes at a class of stations, a node overhead, a duration of the program.
Atoms are rounded as the compiler does it, so forms are exact at every point and need no allowance for rounding (up to 2**53 fs,
nine seconds, where float64 ends to hold whole numbers).
Atom 0 is one femtosecond: what does not vary is a multiple of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.machine.network.flit_service import pad, service_fs
from kernbench.machine.sheets.field_provenance import Origins
from kernbench.parts.derived import Origin

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

Values = Mapping[str, np.ndarray]  # float64[point] of each field
Term = tuple[int, int]  # an atom and how many of it


@dataclass(frozen=True, slots=True)
class _Time:
    """An overhead or a turn."""

    origin: Origin

    def fs(self, values: Values) -> np.ndarray:
        return self.origin.fs(values[self.origin.field])


@dataclass(frozen=True, slots=True)
class _Service:
    """A flit of some bytes, rounded up to the quantum of its station: `padded_service_fs` in float64, which may be infinite."""

    origin: Origin
    nbytes: int
    flit_bytes: int

    def fs(self, values: Values) -> np.ndarray:
        full = np.rint(self.origin.fs(values[self.origin.field], self.flit_bytes))
        return full if self.nbytes == self.flit_bytes else np.ceil(full * self.nbytes / self.flit_bytes)


@dataclass(frozen=True, slots=True)
class _Duration:
    """Amounts of figures, fixed or varied."""

    terms: tuple[tuple[Origin | float, float], ...]  # an origin or fs a unit, and the amount

    def fs(self, values: Values) -> np.ndarray:
        total: np.ndarray | float = 0.0
        for origin, amount in self.terms:
            total = total + (origin.fs(values[origin.field]) if isinstance(origin, Origin) else origin) * amount
        return np.rint(total)


class Basis:
    """The atoms of one program on one machine; gathered while its forms are written."""

    def __init__(self, machine: Machine, origins: Origins) -> None:
        self._machine = machine
        self._origins = origins
        self._atoms: dict[_Time | _Service | _Duration, int] = {}

    def __len__(self) -> int:
        return 1 + len(self._atoms)

    @property
    def fields(self) -> list[str]:
        """The fields that any atom depends on, sorted."""
        found: set[str] = set()
        for atom in self._atoms:
            origins = [origin for origin, _ in atom.terms] if isinstance(atom, _Duration) else [atom.origin]
            found |= {origin.field for origin in origins if isinstance(origin, Origin)}
        return sorted(found)

    def find_station_classes(self) -> np.ndarray:
        """int64[station]: stations of one number have the same times, here and wherever fields vary."""
        stations, origins = self._machine.stations, self._origins
        times = stations.fs_per_flit, stations.quantum_bytes, stations.turn_fs
        columns = np.stack([*times, origins.service, origins.overhead, origins.turn], axis=1)
        return unique_rows(columns).which

    def service(self, station: int, nbytes: int) -> Term:
        """A flit of `nbytes` at a station."""
        stations, flit_bytes = self._machine.stations, self._machine.flit_bytes
        full, quantum = int(stations.fs_per_flit[station]), int(stations.quantum_bytes[station])
        origin = int(self._origins.service[station])
        if origin < 0:
            return 0, int(service_fs(nbytes, quantum, full, flit_bytes))
        padded = int(pad(nbytes, quantum, flit_bytes))
        return self._atom(_Service(self._origins.known[origin], padded, flit_bytes))

    def overhead(self, station: int, fs: int) -> Term:
        """The overhead of the node before a station; it takes `fs` on the machine itself."""
        return self._time(int(self._origins.overhead[station]), fs)

    def turn(self, station: int) -> Term:
        """The cost of a change of direction at a station."""
        return self._time(int(self._origins.turn[station]), int(self._machine.stations.turn_fs[station]))

    def duration(self, terms: Iterable[tuple[str, float]], fs: int) -> Term:
        """A duration of the program; it takes `fs` on the machine itself."""
        found = tuple((self._origins.figures.get(name, self._machine.figures[name]), n) for name, n in terms)
        if not any(isinstance(origin, Origin) for origin, _ in found):
            return 0, fs
        return self._atom(_Duration(found))

    def fs(self, values: Values, count: int) -> np.ndarray:
        """float64[point, atom] where the fields have these values, `count` of each."""
        found = np.empty((count, len(self)))
        found[:, 0] = 1
        for atom, at in self._atoms.items():
            found[:, at] = atom.fs(values)
        return found

    def _time(self, origin: int, fs: int) -> Term:
        return (0, fs) if origin < 0 else self._atom(_Time(self._origins.known[origin]))

    def _atom(self, atom: _Time | _Service | _Duration) -> Term:
        return self._atoms.setdefault(atom, len(self)), 1
