"""A compiled machine: names above, integers below.

Everything that runs reads these arrays; nothing that runs reads YAML. Nodes, directed links ("edges"), stations (what
serves flits: every edge, then every memory channel) and servers (what serves whole jobs: engines, DMA channels, CPUs) are
numbered once, in the order in which the family expanded them. Every error turns a number back into a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import InputError, suggest
from kernels_jit.tables import Stations

if TYPE_CHECKING:
    from kernbench.machine.places import Places
    from kernbench.machine.routes import Routing


@dataclass(frozen=True, slots=True)
class Terminal:
    """A memory at a node: `stripes` channels from `first_station` on; flit f of an access goes to (stripe + f) mod stripes."""

    first_station: int
    stripes: int
    overhead_fs: int


@dataclass(slots=True)
class Machine:
    """A compiled topology. Arrays are read-only; times are femtoseconds, lengths micrometres in `edge_um`."""

    name: str
    family: str
    digest: str  # of everything the machine was compiled from
    flit_bytes: int
    figures: Mapping[str, float]  # fs a unit, by "<part>.<figure>"; what program durations are amounts of

    node_name: tuple[str, ...]
    node_kind: tuple[str, ...]
    node_x_mm: np.ndarray  # float64[node] in the tray
    node_y_mm: np.ndarray
    node_overhead_fs: np.ndarray  # int64[node] paid by what passes through
    node_whole: np.ndarray  # bool[node] forwards nothing until it has the whole message

    edge_src: np.ndarray  # int32[edge]
    edge_dst: np.ndarray
    edge_kind: np.ndarray  # uint8[edge] EdgeKind
    edge_um: np.ndarray  # int64[edge] length
    edge_weight: np.ndarray  # int64[edge] what routing minimises
    edge_gbs: np.ndarray  # float64[edge] as given

    station_name: tuple[str, ...]  # edges "a -> b", then memory channels
    stations: Stations
    terminals: Mapping[int, Terminal]  # by node

    server_name: tuple[str, ...]
    server_kind: tuple[str, ...]  # "gemm", "math", "dma_read" ...: what utilisation is summed over
    server_slots: np.ndarray  # int64[server]

    places: Places = field(repr=False)  # the only maker of part names: PEs, memories, endpoints by coordinates
    routing: Routing = field(init=False, repr=False)
    node_id: dict[str, int] = field(init=False, repr=False)
    server_id: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from kernbench.machine.routes import Routing

        self.node_id = {name: i for i, name in enumerate(self.node_name)}
        self.server_id = {name: i for i, name in enumerate(self.server_name)}
        self.routing = Routing(self)

    @property
    def node_count(self) -> int:
        """How many nodes the machine has."""
        return len(self.node_name)

    @property
    def edge_count(self) -> int:
        """How many directed links; stations from this number on are memory channels."""
        return len(self.edge_src)

    def find_node(self, name: str) -> int:
        """The id of a part by its path. Errors: InputError with the nearest known path."""
        found = self.node_id.get(name)
        if found is None:
            raise InputError(f"machine {self.name} has no part {name!r}{suggest(name, self.node_name)}")
        return found
