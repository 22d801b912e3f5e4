"""A compiled machine: names above, integers below.

Whatever runs reads these arrays and no YAML. Four things are numbered, in the order in which the family expanded them: nodes,
directed links ("edges"), stations, which serve flits (every edge, then every memory channel), and servers, which serve jobs
(engines, DMA channels, CPUs). Errors turn a number back into a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from kernbench.errors import InputError, suggest
from kernbench.machine.costs import Costs
from kernbench.machine.intents import EdgeKind, Intent
from kernbench.machine.network.graph import Csr, make_csr, make_matrix, make_networkx
from kernbench.machine.network.routes import Routing
from kernbench.machine.price_list import PriceList
from kernbench.machine.sheets.field_provenance import Origins, Provenance, find_origins
from kernels_jit.layout.machine_tables import Stations

if TYPE_CHECKING:
    from kernbench.machine.families.sip.places import Places
    from kernbench.machine.network.flow_control import FlowControl


def _no_numbers() -> np.ndarray:
    return np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True)
class Terminal:
    """A memory at a node: `stripes` channels from `first_station` on; flit f of an access goes to (stripe + f) mod stripes."""

    first_station: int
    stripes: int
    overhead_fs: int


@dataclass(frozen=True, slots=True)
class DropIn:
    """The class that is dropped in for a part (see `components.dropin`), and its parameters as plain values."""

    file: str
    sha256: str  # of its text
    parameters: Mapping[str, Any]


class MachineShape(Protocol):
    """The counts and sizes of a machine of some family: a dataclass of plain values, from which the part index follows."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def locate(self, nodes: Mapping[str, int], servers: Mapping[str, int]) -> Places:
        """The part index, from the ids of nodes and servers by name."""
        ...


@dataclass(slots=True, repr=False)
class Machine:
    """A compiled topology. Arrays are read-only; times are femtoseconds, lengths micrometres in `edge_um`."""

    name: str
    family: str
    digest: str  # of everything the machine was compiled from
    flit_bytes: int
    figures: Mapping[str, float]  # by "<part>.<figure>": fs for one, or a parameter in its own unit

    node_name: tuple[str, ...]
    node_kind: tuple[str, ...]
    node_x_mm: np.ndarray  # float64[node] in the tray
    node_y_mm: np.ndarray
    node_overhead_fs: np.ndarray  # int64[node] paid by each transfer that passes
    node_store_and_forward: np.ndarray  # bool[node] forwards nothing until it has the whole message

    edge_src: np.ndarray  # int32[edge]
    edge_dst: np.ndarray
    edge_kind: np.ndarray  # uint8[edge] EdgeKind
    edge_um: np.ndarray  # int64[edge] length
    edge_weight: np.ndarray  # int64[edge] routing minimises the sum
    edge_gbs: np.ndarray  # float64[edge] as given
    edge_port: np.ndarray  # int32[edge] its port among those of its source; its reverse edge has the same port there

    station_name: tuple[str, ...]  # edges as "a -> b", then memory channels
    stations: Stations
    terminals: Mapping[int, Terminal]  # by node
    provenance: Provenance = field(repr=False)  # the port and the field that each time comes from

    server_name: tuple[str, ...]
    server_kind: tuple[str, ...]  # "gemm", "math", "dma_read" ...; utilisation is by kind
    server_slots: np.ndarray  # int64[server]

    shape: MachineShape = field(repr=False)
    flow_control: FlowControl | None = None  # of links with credits; None: their queues have no limit
    packet_flits: int | None = None  # of a packet that links without credits keep together; None: they interleave flits
    port_class: np.ndarray = field(default_factory=_no_numbers)  # uint8[node] of its ports, if there are credits
    channel_order: np.ndarray = field(default_factory=_no_numbers)  # int32[edge] see `channel_layers`; of family `sip`
    dropins: Mapping[str, DropIn] = field(default_factory=dict[str, DropIn], repr=False)  # by part
    prices: PriceList = field(default_factory=PriceList, repr=False)  # of actions, areas and dies
    sources: Mapping[str, str] = field(
        default_factory=dict[str, str], repr=False
    )  # hashes of files outside `models` folders
    # How it was asked for, which is no part of what is kept in a cache: the topology file, and overrides of its fields.
    file: Path | None = field(init=False, default=None, repr=False)
    overrides: Mapping[str, object] = field(init=False, default_factory=dict[str, object], repr=False)
    costs: Costs = field(init=False, repr=False)  # of the work of a PE
    places: Places = field(init=False, repr=False)  # ids of PEs, memories and endpoints; the only maker of their names
    routing: Routing = field(init=False, repr=False)
    node_id: dict[str, int] = field(init=False, repr=False)
    server_id: dict[str, int] = field(init=False, repr=False)
    memo: dict[str, Any] = field(
        init=False, repr=False, default_factory=dict[str, Any]
    )  # what others have found out, by name; the same for machines that differ in times alone
    _origins: Origins | None = field(init=False, repr=False, default=None)
    _csr: dict[Intent, Csr] = field(init=False, repr=False, default_factory=dict[Intent, Csr])
    _weights: dict[Intent, np.ndarray] = field(init=False, repr=False, default_factory=dict[Intent, np.ndarray])

    def __post_init__(self) -> None:
        self.node_id = {name: i for i, name in enumerate(self.node_name)}
        self.server_id = {name: i for i, name in enumerate(self.server_name)}
        self.places = self.shape.locate(self.node_id, self.server_id)
        self.routing = Routing(self)
        self.costs = Costs(self.dropins)

    def __repr__(self) -> str:
        return f"<Machine {self.name}, family {self.family}: {self.node_count:,} nodes, {self.edge_count:,} links>"

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.node_name)

    @property
    def is_router(self) -> np.ndarray:
        """bool[node] whether packets pass it on their way: not an endpoint, a memory or one that forwards whole messages."""
        links, kind = np.bincount(self.edge_src, minlength=self.node_count), np.array(self.node_kind)
        passed = (links > 1) & ~self.node_store_and_forward & (kind != "endpoint")
        passed[list(self.terminals)] = False
        return passed | (kind == "router")

    @property
    def cycle_fs(self) -> int:
        """The cycle of routers with credits: the time of a flit on the fastest link between parts, over the speed-up."""
        between = self.edge_kind != EdgeKind.PE
        speedup = self.flow_control.internal_speedup if self.flow_control else 1
        return max(1, int(self.stations.fs_per_flit[: self.edge_count][between].min()) // speedup)

    @property
    def edge_count(self) -> int:
        """The number of directed links; stations from this number on are memory channels."""
        return len(self.edge_src)

    def origins(self) -> Origins:
        """The field of the topology behind each time; kept, and the same for machines that differ in such fields."""
        if self._origins is None:
            self._origins = find_origins(self.provenance, self.figures.keys(), self.dropins.keys())
        return self._origins

    def csr(self, intent: Intent) -> Csr:
        """The graph of an intent as rows of outgoing edges; kept."""
        if intent not in self._csr:
            self._csr[intent] = make_csr(self, intent)
        return self._csr[intent]

    def weights(self, intent: Intent) -> np.ndarray:
        """int64[node, node] the weight of the edge between two nodes under an intent, 2**62 if there is none; kept.

        Errors: InputError for a machine with too many nodes.
        """
        if intent not in self._weights:
            self._weights[intent] = make_matrix(self, intent)
        return self._weights[intent]

    def to_networkx(self, intent: Intent) -> Any:
        """A networkx.DiGraph of an intent over part names."""
        return make_networkx(self, intent)

    def figures_of(self, part: str) -> dict[str, float]:
        """The figures of a part, by their names without that of the part."""
        start = f"{part}."
        return {name.removeprefix(start): value for name, value in self.figures.items() if name.startswith(start)}

    def find_node(self, name: str) -> int:
        """The id of a node by its path. Errors: InputError with the nearest known path."""
        found = self.node_id.get(name)
        if found is None:
            raise InputError(f"machine {self.name} has no part {name!r}{suggest(name, self.node_name)}")
        return found
