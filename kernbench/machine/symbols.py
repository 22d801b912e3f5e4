"""Symbols of parts in diagrams, as families give them: a shape, what the part is for, and the figures beside it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Role(Enum):
    """The function of a part, which its colours follow."""

    CONTROL = "control"
    MOVEMENT = "movement"
    COMPUTE = "compute"
    MEMORY = "memory"
    PORT = "port"
    CONNECTION = "connection"
    HOST = "host"
    LINK = "link"
    NETWORK = "network"
    OTHER = "other"


class Caption(NamedTuple):
    """A line of a part's figures: a text, and the figures of the machine that it takes."""

    text: str
    figures: tuple[str, ...] = ()


class Symbol(NamedTuple):
    """A shape in pixels. `size` is that of a label inside it, `bytes` the figure of a memory's size."""

    title: str  # in the legend
    role: Role
    width: float
    height: float
    captions: tuple[Caption, ...] = ()
    bytes: str = ""
    size: float = 11.0
    round: bool = False  # a circle


ROUTER = Symbol("router", Role.NETWORK, 14, 14, round=True)
OTHER = Symbol("other part", Role.OTHER, 48, 18)


def overhead(part: str) -> tuple[Caption, ...]:
    """The caption of a part that each transfer pays a time at."""
    return (Caption("{:g} ns", (f"{part}.overhead_ns",)),)
