"""The part index of a `mesh` machine: endpoints by row and column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from kernbench.errors import InputError, shorten
from kernbench.machine.families.sip.places import Places, SipShape
from kernbench.machine.network.rings import find_halves

_NODE = re.compile(r"node\[(\d{1,18})\]\[(\d{1,18})\]")
_INDEX = re.compile(r"\d{1,18}")  # more digits name no node, and Python reads no integer of thousands


def node_name(row: int, col: int) -> str:
    """The name of an endpoint: `node[y][x]`."""
    return f"node[{row}][{col}]"


def router_name(row: int, col: int, network: int) -> str:
    """The name of an endpoint's router: `node[y][x].router`, in the second network `node[y][x].router2`."""
    return f"{node_name(row, col)}.router{network + 1 if network else ''}"


@dataclass(frozen=True, slots=True)
class MeshShape:
    """What is not in the tables of a `mesh` machine: how its endpoints are linked, and how they send."""

    w: int
    h: int
    torus: bool  # columns and rows close to rings
    one_way: bool  # whose links lead to rising indices alone
    networks: int  # 1 or 2, alike
    acknowledged: bool  # messages end for their senders when an acknowledgement is back
    issue_fs: int  # between the starts of two transfers of an endpoint, at least
    outstanding: int | None  # transfers of an endpoint in flight, at most; None: no limit

    @property
    def limits_issue(self) -> bool:
        """Whether a transfer of an endpoint may have to wait for an earlier one."""
        return self.issue_fs > 0 or self.outstanding is not None

    def locate(self, nodes: Mapping[str, int], servers: Mapping[str, int]) -> MeshPlaces:
        """The part index of a machine of this shape, from the ids of its nodes and servers."""
        return MeshPlaces(self, nodes, servers)


class MeshPlaces(Places):
    """Node ids of endpoints by row and column. Methods for SIPs raise InputError, since there are none.

    Of two networks a transfer takes the first if the row and the column of its source and the column of its destination have
    an even sum, else the second. So the order of transfers between two endpoints is kept, and the traffic of one endpoint,
    that of one pattern, and that to one endpoint take both.
    """

    def __init__(self, mesh: MeshShape, nodes: Mapping[str, int], servers: Mapping[str, int]) -> None:
        super().__init__(SipShape(0, 0, 0, "none", 0, 0, 0, (), 1), nodes, servers)
        self.w, self.h, self.mesh = mesh.w, mesh.h, mesh

    def crossings(self, src: int, dst: int) -> list[tuple[int, int]]:
        """The two ends of each link that a way between endpoints takes although others are as short.

        From an endpoint to itself, or where there are two networks, it is the link to its router. Along a ring whose directions
        are equally long it is the first one (see `_steps_half_around`).
        """
        mesh, start, end, found = self.mesh, self._endpoints.get(src), self._endpoints.get(dst), list[tuple[int, int]]()
        if start is None or end is None:
            return found
        (row, col), (to_row, to_col) = start, end
        network = (row + col + to_col) % mesh.networks
        if mesh.networks > 1 or src == dst:
            found.append((src, self._router(row, col, network)))
        if not mesh.torus or mesh.one_way:
            return found
        along, down = self._steps_half_around(start, end)
        if self.w > 2 and 2 * abs(to_col - col) == self.w:
            found.append((self._router(row, col, network), self._router(row, (col + along) % self.w, network)))
        if self.h > 2 and 2 * abs(to_row - row) == self.h:
            found.append((self._router(row, to_col, network), self._router((row + down) % self.h, to_col, network)))
        return found

    def _steps_half_around(self, start: tuple[int, int], end: tuple[int, int]) -> tuple[int, int]:
        """Along the row and along the column, 1 to rising indices or -1 to falling ones, where both ways are equally long.

        Nodes of a ring take turns, and the turn of each depends on its way along the other dimension, so uniform traffic loads
        all links alike, of two networks as well. What goes half around both a row and a column, as in a transpose, turns as
        other packets do that come along the row (docs/networks.md).
        """
        (row, col), (to_row, to_col) = start, end
        across = ceil((to_col - col) % self.w / 2) + ceil(self.w / 4)  # even if it is half around
        return 1 - 2 * ((col + row + to_row) % 2), 2 * ((row + across) % 2) - 1

    def halves(self, nodes: Sequence[int], dateline: str) -> list[int]:
        """As `rings.find_halves`; 0 for all links where there are no rings."""
        if not self.mesh.torus:
            return super().halves(nodes, dateline)
        return find_halves([self._place_of[node] for node in nodes], dateline)

    def endpoint(self, row: int, col: int) -> int:
        """The node of an endpoint. Errors: InputError for a row or column that the mesh lacks."""
        if not (0 <= row < self.h and 0 <= col < self.w):
            raise InputError(f"the machine has no {node_name(row, col)}; {self._extent()}")
        return self._nodes[node_name(row, col)]

    def find_endpoint(self, name: str) -> int:
        """The node named `node[y][x]`, or by its index y * w + x. Errors: InputError for any other name."""
        if matched := _NODE.fullmatch(name):
            return self.endpoint(int(matched[1]), int(matched[2]))
        if _INDEX.fullmatch(name):
            if int(name) >= self.w * self.h:
                raise InputError(f"the machine has no node {name}; {self._extent()}")
            return self.endpoint(*divmod(int(name), self.w))
        raise InputError(f"got {shorten(name)!r}, expected a node like node[1][2] or its index; {self._extent()}")

    def find_rectangle(self, corner: str, opposite: str) -> list[int]:
        """The endpoints of a rectangle between two named ones, row after row. Errors: InputError as `find_endpoint`."""
        (row, col), (to_row, to_col) = (self._endpoints[self.find_endpoint(name)] for name in (corner, opposite))
        rows, columns = sorted((row, to_row)), sorted((col, to_col))
        return [self.endpoint(y, x) for y in range(rows[0], rows[1] + 1) for x in range(columns[0], columns[1] + 1)]

    def _router(self, row: int, col: int, network: int) -> int:
        return self._nodes[router_name(row, col, network)]

    @cached_property
    def _endpoints(self) -> dict[int, tuple[int, int]]:
        """The row and column of each endpoint."""
        return {self.endpoint(row, col): (row, col) for row in range(self.h) for col in range(self.w)}

    @cached_property
    def _place_of(self) -> dict[int, tuple[int, int]]:
        """The row and column of each endpoint and of each router."""
        found, networks = dict(self._endpoints), range(self.mesh.networks)
        return found | {self._router(*place, network): place for place in found.values() for network in networks}

    def _extent(self) -> str:
        last = node_name(self.h - 1, self.w - 1)
        return f"it has no SIPs, only the endpoints node[0][0] to {last}, by index 0 to {self.w * self.h - 1}"


SHAPE = MeshShape
