"""The part index of a `tensix` machine: cores by logical coordinates, banks by number, and the map to physical places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from kernbench.errors import InputError
from kernbench.machine.families.sip.places import Places, SipShape
from kernbench.machine.network.rings import find_halves

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

NETWORKS = 2
REPLY_PORTS = ("own", "row", "row_wrapped", "column", "column_wrapped")
READER_NETWORK, WRITER_NETWORK = 1, 0  # of kernels that read into a core, and of those that write from it


def router_name(network: int, x: int, y: int) -> str:
    """The name of a router: `noc0[y][x]`."""
    return f"noc{network}[{y}][{x}]"


def worker_name(x: int, y: int) -> str:
    """The name of a core by its physical place: `worker[y][x]`."""
    return f"worker[{y}][{x}]"


def interface_name(network: int, x: int, y: int) -> str:
    """The name of a core's interface on a network."""
    return f"{worker_name(x, y)}.niu{network}"


def dram_side_name(network: int, x: int, y: int) -> str:
    """The name of the end, at a core's interface on a network, of what it moves to or from DRAM."""
    return f"{interface_name(network, x, y)}.dram"


def name_reply_port(network: int, reader: tuple[int, int], owner: tuple[int, int]) -> str:
    """Where requests of a reader come to the interface of an owner: an axis and the side of its dateline, or "own".

    The first network goes east, then south, so its requests come along the column unless the rows are the same; the second
    goes north, then west.
    """
    (x, y), (to_x, to_y) = reader, owner
    along_column, along_row = y != to_y, x != to_x
    if not (along_column or along_row):
        return REPLY_PORTS[0]
    if along_column if network == 0 else not along_row:
        crossed = y > to_y if network == 0 else y < to_y
        return REPLY_PORTS[3 + crossed]
    crossed = x > to_x if network == 0 else x < to_x
    return REPLY_PORTS[1 + crossed]


def reply_server_name(network: int, x: int, y: int, port: str) -> str:
    """The name of the server of replies that a core's interface sends to requests of a port."""
    return f"{interface_name(network, x, y)}.reply.{port}"


def l1_name(x: int, y: int) -> str:
    """The name of a core's L1."""
    return f"{worker_name(x, y)}.l1"


def server_name(engine: str, x: int, y: int) -> str:
    """The name of an engine of a core."""
    return f"{worker_name(x, y)}.{engine}"


def bank_name(bank: int) -> str:
    """The name of a DRAM bank."""
    return f"dram{bank}"


def bank_interface_name(bank: int, network: int) -> str:
    """The name of the interface of a DRAM bank on a network."""
    return f"{bank_name(bank)}.niu{network}"


@dataclass(frozen=True, slots=True)
class TensixShape:
    """The grid of a `tensix` machine. Places of banks, DRAM and Ethernet are x + y * width."""

    width: int
    height: int
    columns: tuple[int, ...]  # physical, by logical x
    rows: tuple[int, ...]  # physical, by logical y
    banks: int
    bank_places: tuple[int, ...]  # by bank
    dram: tuple[int, ...]
    ethernet: tuple[int, ...]

    def locate(self, nodes: Mapping[str, int], servers: Mapping[str, int]) -> TensixPlaces:
        """The part index of a machine of this shape, from the ids of its nodes and servers."""
        return TensixPlaces(self, nodes, servers)


class TensixPlaces(Places):
    """Node and server ids of cores and banks. Methods for SIPs raise InputError, since there are none."""

    def __init__(self, grid: TensixShape, nodes: Mapping[str, int], servers: Mapping[str, int]) -> None:
        super().__init__(SipShape(0, 0, 0, "none", 0, 0, 0, (), 1), nodes, servers)
        self.grid = grid
        self.w, self.h = len(grid.columns), len(grid.rows)
        self._logical = {(px, py): (x, y) for x, px in enumerate(grid.columns) for y, py in enumerate(grid.rows)}

    def crossings(self, src: int, dst: int) -> list[tuple[int, int]]:  # noqa: ARG002
        """None: each network has one shortest way between two places."""
        return []

    @cached_property
    def _place_of(self) -> dict[int, tuple[int, int]]:
        """The place (x, y) of each router, by node."""
        size = product(range(NETWORKS), range(self.grid.width), range(self.grid.height))
        return {self._nodes[router_name(network, x, y)]: (x, y) for network, x, y in size}

    def halves(self, nodes: Sequence[int], dateline: str) -> list[int]:
        """As `rings.find_halves`."""
        return find_halves([self._place_of.get(node) for node in nodes], dateline)

    def physical(self, core: tuple[int, int]) -> tuple[int, int]:
        """The physical place of a core. Errors: InputError for one that the chip lacks."""
        x, y = core
        if not (0 <= x < self.w and 0 <= y < self.h):
            raise InputError(f"the chip has no core {x},{y}; {self._extent()}")
        return self.grid.columns[x], self.grid.rows[y]

    def logical(self, place: tuple[int, int]) -> tuple[int, int] | None:
        """The core at a physical place, or None."""
        return self._logical.get(place)

    def inside(self, low: tuple[int, int], high: tuple[int, int]) -> list[tuple[int, int]]:
        """The cores in a rectangle of physical places, row by row."""
        return [
            (x, y)
            for y, row in enumerate(self.grid.rows)
            if low[1] <= row <= high[1]
            for x, column in enumerate(self.grid.columns)
            if low[0] <= column <= high[0]
        ]

    def worker(self, core: tuple[int, int]) -> str:
        """The name of a core by its physical place."""
        return worker_name(*self.physical(core))

    def interface(self, core: tuple[int, int], network: int) -> int:
        """The node of a core's interface on a network."""
        return self._nodes[interface_name(network, *self.physical(core))]

    def dram_side(self, core: tuple[int, int], network: int) -> int:
        """The node at a core's interface on a network where what it moves to or from DRAM begins or ends."""
        return self._nodes[dram_side_name(network, *self.physical(core))]

    def l1(self, core: tuple[int, int]) -> int:
        """The node of a core's L1."""
        return self._nodes[l1_name(*self.physical(core))]

    def bank(self, bank: int) -> int:
        """The node of a DRAM bank."""
        return self._nodes[bank_name(bank)]

    def server(self, core: tuple[int, int], engine: str) -> int:
        """The server of an engine of a core, or of an interface, as in "niu0.read"."""
        return self._servers[server_name(engine, *self.physical(core))]

    def reply_server(self, network: int, place: tuple[int, int], port: str) -> int:
        """The server of replies of the interface at a place to requests of one of `REPLY_PORTS`."""
        return self._servers[reply_server_name(network, *place, port)]

    def bank_place(self, bank: int) -> tuple[int, int]:
        """The physical place of the port that a bank is behind."""
        y, x = divmod(self.grid.bank_places[bank], self.grid.width)
        return x, y

    def hops(self, network: int, src: tuple[int, int], dst: tuple[int, int]) -> int:
        """The links between the routers of two cores on a network."""
        return self.hops_between(network, self.physical(src), self.physical(dst))

    def hops_between(self, network: int, src: tuple[int, int], dst: tuple[int, int]) -> int:
        """The links between the routers of two physical places on a network."""
        (ax, ay), (bx, by) = src, dst
        if network:
            ax, ay, bx, by = bx, by, ax, ay
        return (bx - ax) % self.grid.width + (by - ay) % self.grid.height

    def _extent(self) -> str:
        return f"it has cores 0,0 to {self.w - 1},{self.h - 1}"


SHAPE = TensixShape


def check_chip(machine: Machine, users: str) -> TensixPlaces:
    """The places of a chip, for `users` with their verb. Errors: InputError for a machine of another family."""
    if not isinstance(machine.places, TensixPlaces):
        raise InputError(
            f"machine {machine.name} is of family {machine.family!r}; {users} on family 'tensix', such as wormhole_n150"
        )
    return machine.places
