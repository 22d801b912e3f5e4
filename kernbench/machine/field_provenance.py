"""The provenance of a machine's times: the field of the topology that each follows from.

Families read the ports of parts as quantities, which carry the port's name beside the number (see `quantities`), and the
builder keeps both. So bounds are formulas in the fields, and a machine that differs in such fields needs no compiling. A time
without an origin is a constant: bounds hold but do not follow its field, and each machine that differs in the field is
compiled. Times of drop-ins are constants too, since only their own code knows which fields decide them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kernbench.components.derived import Origin


class Source(NamedTuple):
    """A port of a part, by its path ("noc.gbs", "noc.overhead_fs"), and the field that it follows from, if it is one."""

    port: str
    origin: Origin | None
    lanes: int = 1  # side by side, of a rate

    @property
    def cost(self) -> tuple[str, float]:
        """The same time as an amount of a figure: the overhead, or that of a byte."""
        if self.port.endswith("_fs"):
            return self.port.removesuffix("_fs"), 1
        return self.port.removesuffix("gbs") + "byte", 1 / self.lanes


@dataclass(frozen=True, slots=True)
class Provenance:
    """The sources of a machine's times as its family read them; -1 of an index is none."""

    sources: tuple[Source, ...]
    figures: Mapping[str, Origin]  # of the times among the machine's figures, by name
    node: np.ndarray  # int16[node] into `sources`: of its overhead as a node on the way
    service: np.ndarray  # int16[station]: of a byte
    overhead: np.ndarray  # int16[station]: of the node before it
    turn: np.ndarray  # int16[station]


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of a machine's times; NONE of an index, or no key, is a time that does not vary."""

    known: tuple[Origin, ...]
    figures: Mapping[str, Origin]  # of what program durations are amounts of
    node: np.ndarray  # int64[node] into `known`: of its overhead as a node on the way
    service: np.ndarray  # int64[station] into `known`: of a byte
    overhead: np.ndarray  # int64[station]: of the node before it
    turn: np.ndarray  # int64[station]

    @property
    def fields(self) -> frozenset[str]:
        """The fields that any time follows from."""
        return frozenset(origin.field for origin in (*self.known, *self.figures.values()))


def no_origins(stations: int) -> Origins:
    """Nothing varies on a machine of so many stations."""
    none = np.full(stations, -1, np.int64)
    return Origins((), {}, none[:0], none, none, none)


def find_origins(provenance: Provenance, fields: Collection[str], dropins: Collection[str]) -> Origins:
    """The origins of times where only `fields` have a number, without those of parts that are dropped in."""

    def varies(origin: Origin) -> bool:
        return origin.field in fields and origin.field.partition(".")[0] not in dropins

    origins, known = [source.origin for source in provenance.sources], dict[Origin, int]()
    number = [known.setdefault(origin, len(known)) if origin and varies(origin) else -1 for origin in origins]
    of = np.array([*number, -1], np.int64)  # the last, which -1 reads, is none
    arrays = (provenance.node, provenance.service, provenance.overhead, provenance.turn)
    figures = {name: origin for name, origin in provenance.figures.items() if varies(origin)}
    return Origins(tuple(known), figures, *(of[array] for array in arrays))
