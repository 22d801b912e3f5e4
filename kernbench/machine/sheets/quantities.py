"""Rates and times of a checked topology: numbers with the port of the part that each comes from."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from kernbench.machine.sheets.field_provenance import Source
from kernbench.parts.derived import Origin, list_derived
from kernbench.parts.part import Part, Section, plain
from kernbench.schema.model import Model
from kernbench.units import FS_PER_NS


class Rate(NamedTuple):
    """A bandwidth with its source, if it comes from a part."""

    gbs: float
    source: Source | None = None


class Time(NamedTuple):
    """A time with its source, if it comes from a part."""

    fs: int
    source: Source | None = None


NO_TIME = Time(0)


def rate(spec: Model, port: str, links: int = 1) -> Rate:
    """A bandwidth of a checked topology, over `links` links side by side."""
    part, name = _find(spec, port)
    origin = Origin(port, links) if name in type(part).model_fields else None
    return Rate(links * getattr(part, name), Source(port, origin, links))


def time(spec: Model, port: str) -> Time:
    """A time of a checked topology; 0 if the part has no such port."""
    part, name = _find(spec, port)
    derived = list_derived(type(part)).get(name)
    origin = derived.inside(port.rpartition(".")[0]) if derived and derived.factor is None else None
    return Time(round(getattr(part, name, 0)), Source(port, origin))


def list_figures(spec: Model, *free: str) -> dict[str, float]:
    """All figures of a checked topology, by "<part>.<figure>", and those that are 0 under names of their own."""
    found = {**dict.fromkeys(("zero", *free), 0.0), "ns": float(FS_PER_NS)}
    for part, section in spec:
        if isinstance(section, Section):
            found |= {f"{part}.{figure}": plain(value) for figure, value in section.figures().items()}
    return found


def list_figure_origins(spec: Model) -> dict[str, Origin]:
    """The origin of each figure of a checked topology that follows from one field, by "<part>.<figure>"."""
    parts = [(name, part) for name, part in spec if isinstance(part, Part)]
    return {
        f"{name}.{figure}": origin.inside(name) for name, part in parts for figure, origin in part.origins().items()
    }


def _find(spec: Model, port: str) -> tuple[Model, str]:
    """The part of a port, or the topology itself, and the name of the port in it."""
    owner, _, name = port.rpartition(".")
    return reduce(getattr, owner.split(".") if owner else (), spec), name
