"""The process group of a run: its ranks, how their SIPs are joined, and the queues between their PEs.

The queues along the grid (of PEs, cubes and SIPs) are installed when the group is made: every PE of every rank gets its
neighbour table. They serve each algorithm that uses the grid, and any kernel that is launched afterwards. An algorithm with a
wiring of its own has its own queues; the PEs that take part in it get those when it is called first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernbench.ccl.plan import Plan
from kernbench.ccl.topology import find_grid, find_kind
from kernbench.ccl.wiring import World
from kernbench.dtypes import itemsize
from kernbench.errors import InputError
from kernbench.host.torch.neighbour_tables import grid_tables, neighbour_tables

if TYPE_CHECKING:
    from kernbench.ccl.config import Config
    from kernbench.ccl.module import Algorithm
    from kernbench.ccl.plan import Spans
    from kernbench.host.device.device import Device
    from kernbench.tl.ipcq import Ipcq


class ProcessGroup:
    """All ranks of a run, rank r on the r-th of its SIPs.

    Errors: InputError for an algorithm, a topology or a world size that cannot be.
    """

    def __init__(self, device: Device, sips: Sequence[int], config: Config) -> None:
        self.device = device
        self.config = config
        self.world_size = config.world_size(len(sips))
        self.sips = tuple(sips[: self.world_size])
        self.places = device.machine.places
        self.topology = config.topology(self.places.sip_topology)
        self.kind = self._find_kind(config.load())
        self.sip_w, self.sip_h = self._find_grid()
        self._own: dict[tuple[str, int, int, tuple[int, ...], tuple[int, ...]], Ipcq] = {}
        tables = grid_tables(
            self.world(self.places.cube_w, self.places.cube_h), self.sips, self.places, config.queues()
        )
        device.ipcq = device.install_neighbours(tables)

    @property
    def mesh(self) -> tuple[int, int]:
        """Width and height of the mesh of cubes of a SIP."""
        return self.places.cube_w, self.places.cube_h

    def world(self, cube_w: int = 1, cube_h: int = 1) -> World:
        """All ranks, with the mesh of cubes of each that take part together."""
        return World(self.world_size, self.kind, self.sip_w, self.sip_h, cube_w, cube_h)

    def queues(self, algorithm: Algorithm, world: World, cubes: Sequence[int], pes: Sequence[int]) -> Ipcq:
        """The queues of an algorithm between the PEs that take part in it."""
        if not algorithm.own_wiring:
            return self.device.ipcq
        key = (algorithm.name, world.cube_w, world.cube_h, tuple(cubes), tuple(pes))
        if key not in self._own:
            queues = self.config.queues(algorithm.collective)
            tables = neighbour_tables(algorithm.name, algorithm.neighbours, world, self.sips, cubes, pes, queues)
            self._own[key] = self.device.install_neighbours(tables)
        return self._own[key]

    def plan(
        self, collective: str, dtype: str, op: str = "sum", spans: Spans | None = None, root: int | None = None
    ) -> Plan:
        """The plan that a collective's kernel gets. Errors: InputError for slots that hold no element."""
        queues = self.config.queues(collective)
        chunk = queues.slot_bytes // itemsize(dtype)
        if not chunk:
            raise InputError(
                f"{self.config.where}: slots of {queues.slot_bytes} bytes hold no element of {dtype}; raise slot_size"
            )
        return Plan(dtype, op, chunk, queues.n_slots, spans, root)

    def _find_kind(self, algorithm: Algorithm) -> int:
        if self.topology in algorithm.kinds:
            return algorithm.kinds[self.topology]
        find_kind(self.topology)
        raise InputError(
            f"algorithm {algorithm.name!r} knows {', '.join(algorithm.kinds)}, but the SIPs are a {self.topology}; "
            "choose another algorithm or topology"
        )

    def _find_grid(self) -> tuple[int, int]:
        places = self.places
        if self.world_size == places.sip_count and self.topology == places.sip_topology:
            return places.sip_w, places.sip_h
        return find_grid(self.world_size, self.topology)
