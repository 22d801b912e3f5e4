"""Captions of parts in a diagram: their main figures in a line or two.

A caption is made of the machine's figures, so it shows values that a topology or an override sets. A part without these
figures (a drop-in of another kind) has no caption.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.report.diagram.symbols import find_symbol
from kernbench.units import FS_PER_NS, format_bytes

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


def find_caption(machine: Machine, view: str, kind: str) -> tuple[str, ...]:
    """The lines for a kind of node in a view."""
    figures, symbol = machine.figures, find_symbol(machine, view, kind)
    size = [format_bytes(figures[symbol.bytes])] if symbol.bytes in figures else []
    lines = (
        text.format(*(figures[name] for name in names))
        for text, names in symbol.captions
        if all(name in figures for name in names)
    )
    return (*size, *lines, *_channels(machine, kind))


def _channels(machine: Machine, kind: str) -> tuple[str, ...]:
    """The bandwidth of a memory."""
    node = next((node for node in machine.terminals if machine.node_kind[node] == kind), None)
    if node is None:
        return ()
    memory = machine.terminals[node]
    gbs = machine.flit_bytes * FS_PER_NS / int(machine.stations.fs_per_flit[memory.first_station])
    return (f"{memory.stripes} × {gbs:,.6g} GB/s",) if memory.stripes > 1 else (f"{gbs:,.6g} GB/s",)
