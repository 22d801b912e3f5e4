"""The router mesh of a cube, derived from the positions of its PEs.

Every PE is at a crossing of a row and a column. If two neighbouring rows or columns are farther apart than the longest wire,
relay rows or columns are put between them at equal distances. Routers inside the rectangle of the HBM are left out. Die-to-die
connections take the middle of each side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

Point = tuple[float, float]  # mm


class MeshGrid(NamedTuple):
    """The routers of a cube, and those that carry PEs and connections."""

    x_mm: tuple[float, ...]  # of each column
    y_mm: tuple[float, ...]  # of each row
    hole: frozenset[str]
    pe_routers: tuple[str, ...]
    sides: dict[str, tuple[str, ...]]  # by N, S, W, E: the routers that carry a connection

    def routers(self) -> list[str]:
        """The names of all routers, row by row."""
        names = (router_name(row, col) for row in range(len(self.y_mm)) for col in range(len(self.x_mm)))
        return [name for name in names if name not in self.hole]


def router_name(row: int, col: int) -> str:
    """The name of a router in its cube."""
    return f"r{row}c{col}"


def make_grid(
    pe_mm: Sequence[Point], max_gap_mm: float, hbm_mm: tuple[float, float, float, float] | None, connections: int
) -> MeshGrid:
    """The mesh for PEs at these positions.

    `hbm_mm` is (left, top, right, bottom). Errors: ValueError for a PE inside it, a position given twice, or too many
    connections.
    """
    x_mm, y_mm = (relay((point[axis] for point in pe_mm), max_gap_mm) for axis in (0, 1))
    left, top, right, bottom = hbm_mm or (0.0, 0.0, 0.0, 0.0)
    hole = frozenset(
        router_name(row, col)
        for row, y in enumerate(y_mm)
        for col, x in enumerate(x_mm)
        if left < x < right and top < y < bottom
    )
    carriers = tuple(router_name(y_mm.index(round(y, 3)), x_mm.index(round(x, 3))) for x, y in pe_mm)
    for place, name in zip(pe_mm, carriers, strict=True):
        if name in hole:
            raise ValueError(f"pe_mm has {list(place)}, which is inside hbm_mm {list(hbm_mm or ())}; move one")
    if len(set(carriers)) < len(carriers):
        raise ValueError(f"pe_mm has a place twice: {', '.join(str(list(place)) for place in pe_mm)}; move one")
    rows, cols = range(len(y_mm)), range(len(x_mm))
    sides = {
        "N": [router_name(0, col) for col in cols],
        "S": [router_name(rows[-1], col) for col in cols],
        "W": [router_name(row, 0) for row in rows],
        "E": [router_name(row, cols[-1]) for row in rows],
    }
    middle = {side: _middle([name for name in names if name not in hole], connections) for side, names in sides.items()}
    return MeshGrid(x_mm, y_mm, hole, carriers, middle)


def relay(places_mm: Iterable[float], max_gap_mm: float) -> tuple[float, ...]:
    """The distinct places in ascending order, with others added so that no gap is above `max_gap_mm`; to the micrometre."""
    places = sorted({round(place, 3) for place in places_mm})
    found = places[:1]
    for before, after in pairwise(places):
        parts = math.ceil(round((after - before) / max_gap_mm, 9))
        found += [round(before + (after - before) * i / parts, 3) for i in range(1, parts + 1)]
    return tuple(found)


def _middle(names: list[str], count: int) -> tuple[str, ...]:
    if count > len(names):
        raise ValueError(
            f"connections is {count}, but a side has {len(names)} routers ({', '.join(names)}); give fewer"
        )
    first = (len(names) - count) // 2
    return tuple(names[first : first + count])
