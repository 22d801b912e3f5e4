"""The layout of a network with credits: the numbers of its routers, memories, actors, links and virtual channels.

It follows from the machine alone. Routers and memories are numbered by node, actors are the routers, then the memories, then
the links, and a link has the figures of the ports of the node that it leads to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernels_jit.layout import codes
from kernels_jit.layout.codes import NONE

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.network.flow_control import FlowControl


def list_ends(route: np.ndarray, whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """bool[step] behind which steps of some routes flits end, and int64[] those behind which they fork in a router.

    `route`: ROUTE[route]; `whole`: int64[step] as of STEP.
    """
    last, ends = route["end"] - 1, np.zeros(len(whole), bool)
    ends[:-1] = whole[1:] == 1
    ends[last] = route["forks"] == 0
    behind = route["parent"] != codes.NONE
    ends[last[route["parent"][behind]]] = whole[route["start"][behind]] == 1
    return ends, last[(route["forks"] > 0) & ~ends[last]]


def list_begins(route: np.ndarray, whole: np.ndarray, is_memory: np.ndarray) -> np.ndarray:
    """bool[step] where a source sends flits of some routes: at their begin, or behind a memory there.

    `route`: ROUTE[route]; `whole`: int64[step] as of STEP; `is_memory`: bool[step].
    """
    begins = whole == 1
    begins[route["start"][route["parent"] == codes.NONE]] = True
    begins[1:] |= begins[:-1] & is_memory[:-1]
    return begins


class CreditLayout:
    """Tables by node and by link."""

    def __init__(self, machine: Machine, control: FlowControl) -> None:
        self._control, self._port_class, self.cycle_fs = control, machine.port_class, machine.cycle_fs
        self.is_router = machine.is_router  # bool[node]
        self.routers = np.flatnonzero(self.is_router)  # int64[router] the node
        self.memories = np.array(sorted(machine.terminals), np.int64)  # int64[memory] the node
        self.router_of = _numbers(self.routers, machine.node_count)  # int64[node] or NONE
        self.memory_of = _numbers(self.memories, machine.node_count)
        self.memory_at = np.zeros(len(machine.stations.fs_per_flit), np.int64)  # int64[station] of its first channel
        first_stations = [machine.terminals[node].first_station for node in self.memories.tolist()]
        self.memory_at[first_stations] = np.arange(len(self.memories))
        self.vc_n = self.figures("virtual_channels")[machine.edge_dst]  # int64[link]
        self.depth = self.figures("buffer_flits")[machine.edge_dst]  # int64[link] flits of a virtual channel
        self.fan_out = np.bincount(machine.edge_src, minlength=machine.node_count)  # int64[node] links
        self.input_vc_n = np.bincount(machine.edge_dst, self.vc_n, machine.node_count).astype(np.int64)  # int64[node]
        far_port = machine.edge_port[np.arange(machine.edge_count) ^ 1]
        # int64[link] its first virtual channel among those of the links that lead to the same node
        self.first_input_vc = number_vcs(self.vc_n, machine.edge_dst, far_port)
        order = np.lexsort((machine.edge_port, machine.edge_src))
        self.first_output_vc = np.empty(machine.edge_count, np.int64)  # int64[link] among those of all links
        self.first_output_vc[order] = np.cumsum(self.vc_n[order]) - self.vc_n[order]

    def figures(self, field: str) -> np.ndarray:
        """int64[node] a figure of the class of ports of each node."""
        return np.array([getattr(port, field) for port in self._control.ports], np.int64)[self._port_class]

    def cycles(self, fs: np.ndarray | int) -> np.ndarray:
        """Times in cycles, rounded up, at least one."""
        return np.maximum(1, -(-np.asarray(fs) // self.cycle_fs))

    def receivers(self, nodes: np.ndarray) -> np.ndarray:
        """int64[link] the actors that flits wait at behind links to some nodes, or NONE."""
        memory = self.memory_of[nodes]
        return np.where(memory == NONE, self.router_of[nodes], len(self.routers) + memory)

    def senders(self, nodes: np.ndarray) -> np.ndarray:
        """int64[link] the actors that send over links from some nodes, one for each link."""
        memory, router = self.memory_of[nodes], self.router_of[nodes]
        links = len(self.routers) + len(self.memories) + np.arange(len(nodes))
        alone = np.where(memory == NONE, links, len(self.routers) + memory)
        return np.where(router == NONE, alone, router)


def number_vcs(vc_n: np.ndarray, node: np.ndarray, port: np.ndarray) -> np.ndarray:
    """int64[link] the number of the first virtual channel of each link among those of the links of its node, by port."""
    order = np.lexsort((port, node))
    before = np.cumsum(vc_n[order]) - vc_n[order]
    first = before[np.searchsorted(node[order], node[order])]
    found = np.empty(len(vc_n), np.int64)
    found[order] = before - first
    return found


def _numbers(nodes: np.ndarray, count: int) -> np.ndarray:
    """int64[node] the number of each node among some, or NONE."""
    found = np.full(count, NONE)
    found[nodes] = np.arange(len(nodes))
    return found
