"""The provenance of a machine's times: the field of the topology that each time follows from.

Families read the ports of parts as quantities, which are numbers with the names of their ports (see `quantities`), and the
builder keeps both. So bounds are formulas in the fields, and machines that differ in such fields are not compiled again. A
time without an origin is a constant: bounds hold but do not follow its field, and each machine that differs in the field is
compiled. Times of drop-ins are constants too, since only their own code knows which fields decide them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kernbench.parts.derived import Origin


class Source(NamedTuple):
    """A port of a part, by its path ("noc.gbs", "noc.overhead_fs"), and the field that it follows from, if it is one."""

    port: str
    origin: Origin | None
    links: int = 1  # links side by side whose bandwidths the rate adds up

    @property
    def cost(self) -> tuple[str, float]:
        """The time as an amount of a figure: the overhead, or the time of a byte."""
        if self.port.endswith("_fs"):
            return self.port.removesuffix("_fs"), 1
        return self.port.removesuffix("gbs") + "byte", 1 / self.links


@dataclass(frozen=True, slots=True)
class Provenance:
    """The sources of a machine's times, as its family read them; index -1 is none."""

    sources: tuple[Source, ...]
    figures: Mapping[str, Origin]  # of the machine's figures that are times, by name
    node: np.ndarray  # int16[node] into `sources`: of the node's overhead
    service: np.ndarray  # int16[station]: of the time of a byte
    overhead: np.ndarray  # int16[station]: of the overhead of the node before it
    turn: np.ndarray  # int16[station]: of the turnaround


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of a machine's times; a time with index -1, or without a key, does not vary."""

    known: tuple[Origin, ...]
    figures: Mapping[str, Origin]  # by name; durations of programs are amounts of these
    node: np.ndarray  # int64[node] into `known`: of the node's overhead
    service: np.ndarray  # int64[station] into `known`: of the time of a byte
    overhead: np.ndarray  # int64[station]: of the overhead of the node before it
    turn: np.ndarray  # int64[station]: of the turnaround

    @property
    def by_field(self) -> dict[str, Origin]:
        """An origin of each field that any time follows from."""
        return {origin.field: origin for origin in (*self.known, *self.figures.values())}

    @property
    def fields(self) -> frozenset[str]:
        """The fields that any time follows from."""
        return frozenset(self.by_field)


def no_origins(stations: int) -> Origins:
    """The origins of a machine with this many stations on which no time varies."""
    none = np.full(stations, -1, np.int64)
    return Origins((), {}, none[:0], none, none, none)


def find_origins(provenance: Provenance, fields: Collection[str], dropins: Collection[str]) -> Origins:
    """The origins of times that follow from numbers among `fields`, except those of parts that are dropped in."""

    def varies(origin: Origin) -> bool:
        return origin.field in fields and origin.field.partition(".")[0] not in dropins

    origins, known = [source.origin for source in provenance.sources], dict[Origin, int]()
    number = [known.setdefault(origin, len(known)) if origin and varies(origin) else -1 for origin in origins]
    of = np.array([*number, -1], np.int64)  # the last, which -1 reads, is none
    arrays = (provenance.node, provenance.service, provenance.overhead, provenance.turn)
    figures = {name: origin for name, origin in provenance.figures.items() if varies(origin)}
    return Origins(tuple(known), figures, *(of[array] for array in arrays))
