"""The places of a `mesh` machine: endpoints by row and column, and no SIPs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernbench.errors import InputError
from kernbench.machine.places import Places, Shape


@dataclass(frozen=True, slots=True)
class MeshShape:
    """How many endpoints a `mesh` machine has."""

    w: int
    h: int

    def locate(self, nodes: Mapping[str, int], servers: Mapping[str, int]) -> MeshPlaces:
        """The places of a machine of this shape whose nodes and servers have these ids."""
        return MeshPlaces(self, nodes, servers)


class MeshPlaces(Places):
    """Endpoints by row and column; what asks for a SIP learns that there is none."""

    def __init__(self, mesh: MeshShape, nodes: Mapping[str, int], servers: Mapping[str, int]) -> None:
        super().__init__(Shape(0, 0, 0, "none", 0, 0, 0, (), 1), nodes, servers)
        self.w, self.h = mesh.w, mesh.h

    def endpoint(self, row: int, col: int) -> int:
        """The node that sends and receives. Errors: InputError for a row or column the mesh lacks."""
        if not (0 <= row < self.h and 0 <= col < self.w):
            raise InputError(f"the machine has no r{row}c{col}; {self._extent()}")
        return self._node(f"r{row}c{col}.endpoint")

    def _extent(self) -> str:
        return f"it has no SIPs, only the endpoints r0c0 to r{self.h - 1}c{self.w - 1}"
