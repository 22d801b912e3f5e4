"""Which kind of part was busiest.

Parts are grouped into classes (GEMM engines, router links, HBM channels, ...). A class is as utilised as its busiest
member: with one GEMM on one PE of 256, that PE's engine is what would have to be faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


class Bottleneck(NamedTuple):
    """The most utilised class, its busiest part, and how much of the time that was busy."""

    kind: str
    part: str
    utilisation: float


class Parts(NamedTuple):
    """What can be busy: names, classes and how many things each can do at once."""

    name: tuple[str, ...]
    kind: tuple[str, ...]
    slots: np.ndarray  # int64[part]


def list_parts(machine: Machine) -> Parts:
    """The servers of a machine, then its stations."""
    from kernbench.machine.intents import EdgeKind

    links = tuple(f"{EdgeKind(kind).name.lower()} links" for kind in machine.edge_kind.tolist())
    channels: list[str] = [""] * (len(machine.station_name) - len(links))
    for node, terminal in machine.terminals.items():
        first = terminal.first_station - len(links)
        channels[first : first + terminal.stripes] = [f"{machine.node_kind[node]} channels"] * terminal.stripes
    ones = np.ones(len(machine.station_name), np.int64)
    return Parts(
        machine.server_name + machine.station_name,
        tuple(machine.server_kind) + links + tuple(channels),
        np.concatenate([np.asarray(machine.server_slots, np.int64), ones]),
    )


def find_bottleneck(parts: Parts, busy_fs: np.ndarray, window_fs: int) -> Bottleneck | None:
    """The most utilised part of a window, the first of equals; None when nothing was busy. `busy_fs`: int64[part]."""
    if window_fs <= 0 or not busy_fs.any():
        return None
    utilisation = busy_fs / (parts.slots * window_fs)
    at = int(np.argmax(utilisation))
    return Bottleneck(parts.kind[at], parts.name[at], float(utilisation[at]))
