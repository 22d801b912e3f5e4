"""The rows in which a tray is drawn: SIPs that stand in one long line are drawn in several rows.

The places of the machine stay as they are, since lengths of wires follow from them. Inside a SIP a drawing is to scale; wires
between SIPs are not.
"""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

FEWEST = 4  # SIPs in a line that are drawn in rows


def columns_of(machine: Machine) -> int:
    """The SIPs in a row of the drawing of a machine of family `sip`; those of its own grid if that has several rows."""
    places = machine.places
    if places.sip_h > 1 or places.sip_count < FEWEST:
        return places.sip_w
    root = isqrt(places.sip_count - 1) + 1
    even = (columns for columns in range(root, 2 * root) if places.sip_count % columns == 0)
    return next(even, root)


def is_in_rows(machine: Machine) -> bool:
    """Whether the SIPs of a machine are drawn in rows that it does not have."""
    return machine.family == "sip" and columns_of(machine) < machine.places.sip_w


def drawn_places(machine: Machine) -> tuple[np.ndarray, np.ndarray]:
    """float64[node] x and y in mm in a drawing of the tray."""
    x, y = machine.node_x_mm.copy(), machine.node_y_mm.copy()
    if not is_in_rows(machine):
        return x, y
    places, columns = machine.places, columns_of(machine)
    sip = places.sip_of()
    first, second = np.flatnonzero(sip == 0), np.flatnonzero(sip == 1)
    across = float(x[second].min() - x[first].min())
    gap = across - float(np.ptp(x[first]))
    row = np.where(sip >= 0, sip // columns, 0)
    x -= row * columns * across
    y += row * (float(np.ptp(y[first])) + gap)
    if not places.direct:
        x[places.switch()] = float(x[sip >= 0].min() + x[sip >= 0].max()) / 2
    return x, y
