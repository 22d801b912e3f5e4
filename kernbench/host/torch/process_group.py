"""The process group of a run: its ranks, how their SIPs are joined, and the queues between their PEs.

The queues along the grid (of PEs, cubes and SIPs) are installed when the group is made: every PE of every rank gets its
neighbour table. They serve each algorithm that uses the grid, and any kernel that is launched afterwards. An algorithm with a
wiring of its own has its own queues; the PEs that take part in it get those when it is called first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from kernbench.ccl.alpha_beta import Cost
from kernbench.ccl.broadcast_in_sip import METHODS, Copies, cube_queues
from kernbench.ccl.choice import Candidate, Choice, choose, choose_chunk
from kernbench.ccl.plan import Plan
from kernbench.ccl.rehearsal import Rehearsals
from kernbench.ccl.slot_size import find_most_bytes, find_slot_bytes
from kernbench.ccl.time_model import TimeModel
from kernbench.ccl.topology import find_grid, find_kind
from kernbench.ccl.wiring import DIRECTIONS, World, grid_neighbours
from kernbench.dtypes import itemsize
from kernbench.errors import InputError
from kernbench.host.device.mmu_updates import by_cube
from kernbench.host.torch.neighbour_tables import copy_tables, estimate_install_ns, grid_tables, neighbour_tables

if TYPE_CHECKING:
    from kernbench.ccl.alpha_beta import Link
    from kernbench.ccl.config import Config, CopyMethodName, Queues
    from kernbench.ccl.module import Algorithm
    from kernbench.ccl.plan import Spans
    from kernbench.host.device.device import Device
    from kernbench.host.torch.participants import Workers
    from kernbench.tl.lowering.ipcq import Ipcq

Who = tuple[
    str, int, int, tuple[int, ...], tuple[int, ...]
]  # a module, the cubes of its world, those and the PEs that work


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
        self.kind = self._find_kind(config.candidates())
        self.sip_w, self.sip_h = self._find_grid()
        self._own: dict[Who, tuple[Queues, Ipcq]] = {}
        self._of_copies: dict[Copies, Ipcq] = {}
        self._rehearsed: dict[tuple[str, str, Who], Rehearsals] = {}  # by collective and dtype
        self._choices: dict[tuple[Any, ...], Any] = {}
        grid = self.world(self.places.cube_w, self.places.cube_h)
        tables = grid_tables(grid, self.sips, self.places, self.slots(), config.spec.defaults.intra)
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
        key = _who(algorithm, world, cubes, pes)
        if key not in self._own:
            queues = self.slots_of(algorithm, world, cubes, pes)
            tables = neighbour_tables(algorithm.name, algorithm.neighbours, world, self.sips, cubes, pes, queues)
            self._own[key] = queues, self.device.install_neighbours(tables)
        return self._own[key][1]

    def slots(self) -> Queues:
        """The queues along the grid, with the size of their slots."""
        queues = self.config.queues()
        return queues if queues.slot_bytes else replace(queues, slot_bytes=self._grid_slot_bytes)

    def slots_of(self, algorithm: Algorithm, world: World, cubes: Sequence[int], pes: Sequence[int]) -> Queues:
        """The queues of an algorithm, with the size of their slots: in its own wiring as large as its links ask for."""
        queues = self.config.queues(algorithm.collective)
        if queues.slot_bytes:
            return queues
        if not algorithm.own_wiring:
            return replace(queues, slot_bytes=self._grid_slot_bytes)
        key = _who(algorithm, world, cubes, pes)
        if key in self._own:
            return self._own[key][0]
        most = max(
            len(algorithm.neighbours(rank, cube, world)) for rank in range(world.ranks) for cube in range(world.cubes)
        )
        cost = Cost(self.device.machine, algorithm.neighbours, world, self.sips, cubes[0], pes[0], 1)
        sides = {side for cube in range(world.cubes) for side in algorithm.neighbours(0, cube, world)}
        return replace(
            queues, slot_bytes=self._size_slots(queues, most, [cost.links(side, ranks=(0,)) for side in sides])
        )

    def choose(
        self,
        collective: str,
        world: World,
        workers: Workers,
        dtype: str,
        op: str = "sum",
        root: int | None = None,
    ) -> tuple[Choice, Plan]:
        """The algorithm of a collective on these PEs, and the plan that its kernel gets.

        Errors: InputError for slots that hold no element, and for an algorithm that cannot be.
        """
        cubes, pes = workers.cubes, workers.pes
        key = (collective, world, cubes, pes, workers.elements, dtype, root)
        if key not in self._choices:
            candidates = self.config.candidates(collective)
            able = [one for one in candidates if self._is_able(one, world, cubes, pes)] or candidates
            fixed = self.config.queues(collective).slot_bytes is not None
            self._choices[key] = choose(
                [self._candidate(one, world, workers, dtype, root) for one in able], fixed=fixed
            )
        choice = self._choices[key]
        plan = self.plan(self.slots_of(choice.algorithm, world, cubes, pes), dtype, op, workers.spans, root)
        return choice, replace(plan, chunk=choice.chunk)

    def _candidate(
        self, algorithm: Algorithm, world: World, workers: Workers, dtype: str, root: int | None
    ) -> Candidate:
        queues = self.slots_of(algorithm, world, workers.cubes, workers.pes)
        rehearsals = self._rehearsals(algorithm, world, workers, queues, dtype)
        plan, elements = self.plan(queues, dtype, root=root), workers.elements
        return Candidate(
            algorithm, plan, partial(rehearsals.estimate, elements), partial(rehearsals.bound, elements, plan)
        )

    def spread(self, spans: Spans, dtype: str, copies: Copies) -> tuple[CopyMethodName, Plan]:
        """How a result comes to the copies, and the plan of the kernel: by the estimates what is not given."""
        plan, methods = self.plan(self.slots(), dtype, spans=spans), self._copy_methods(copies)
        fixed = self.config.queues().slot_bytes is not None
        if fixed and len(methods) == 1:
            return methods[0], plan
        nbytes = max(elements for row in spans for _, elements in row) * itemsize(dtype)
        key = (dtype, nbytes, copies, copies in self._of_copies)
        if key not in self._choices:
            queues, own = self.slots(), World(1, self.kind, 1, 1, 1, 1)
            about = queues.kind, dtype, queues.credit_bytes
            model = TimeModel(self.device.machine, grid_neighbours, own, self.sips, (0,), (0,), *about)
            estimates = {method: partial(METHODS[method].estimate, model, nbytes, copies) for method in methods}
            found = {method: choose_chunk(estimate, plan, fixed=fixed) for method, estimate in estimates.items()}
            first = {"multicast": 0.0 if len(methods) == 1 else self._install_ns(copies)}
            method = min(methods, key=lambda method: (found[method].estimate_ns or 0.0) + first.get(method, 0.0))
            self._choices[key] = method, found[method].elements
        method, chunk = self._choices[key]
        return method, replace(plan, chunk=chunk)

    def _copy_methods(self, copies: Copies) -> list[CopyMethodName]:
        """The methods among which is the choice; of equals the first is taken."""
        asked, queues = self.config.copies, self.slots()
        if asked == "mesh" or not copies.over_pes or copies.pes < 2:
            return ["mesh"]
        assert queues.slot_bytes
        rings = max(map(len, cube_queues(copies).values())) * queues.n_slots
        fits = queues.slot_bytes <= find_most_bytes(self.places, queues.kind, rings)
        return ["multicast"] if asked == "multicast" else ["mesh", "multicast"] if fits else ["mesh"]

    @property
    def _has_all_of_cube(self) -> bool:
        """Whether the queues of the grid lead from every PE to all others of its cube."""
        return self.config.spec.defaults.intra == "all"

    def _install_ns(self, copies: Copies) -> float:
        """How long the PEs wait for the queues of multicasts to copies, if they do not have them."""
        if self._has_all_of_cube or copies in self._of_copies:
            return 0.0
        tables = by_cube(copy_tables(copies, self.sips[:1], self.slots()))
        return estimate_install_ns(self.device.machine, self.sips[0], tables[self.sips[0]])

    def copy_queues(self, copies: Copies) -> Ipcq:
        """The queues of multicasts to copies; PEs get them when they are needed first."""
        if self._has_all_of_cube:
            return self.device.ipcq
        if copies not in self._of_copies:
            tables = copy_tables(copies, self.sips, self.slots())
            self._of_copies[copies] = self.device.install_neighbours(tables)
        return self._of_copies[copies]

    def plan(
        self, queues: Queues, dtype: str, op: str = "sum", spans: Spans | None = None, root: int | None = None
    ) -> Plan:
        """The plan of a collective whose pieces fill a slot. Errors: InputError for slots that hold no element."""
        assert queues.slot_bytes
        chunk = queues.slot_bytes // itemsize(dtype)
        if not chunk:
            raise InputError(
                f"{self.config.where}: slots of {queues.slot_bytes} bytes hold no element of {dtype}; raise slot_size"
            )
        return Plan(dtype, op, chunk, queues.n_slots, spans, root, self._keeps)

    def _rehearsals(
        self, algorithm: Algorithm, world: World, workers: Workers, queues: Queues, dtype: str
    ) -> Rehearsals:
        key = (algorithm.collective, dtype, _who(algorithm, world, workers.cubes, workers.pes))
        if key not in self._rehearsed:
            working = self.sips, workers.cubes, workers.pes
            about = queues.kind, dtype, queues.credit_bytes, queues.slot_bytes or 1
            model = TimeModel(self.device.machine, algorithm.neighbours, world, *working, *about)
            self._rehearsed[key] = Rehearsals(algorithm, model, world)
        return self._rehearsed[key]

    def _is_able(self, algorithm: Algorithm, world: World, cubes: Sequence[int], pes: Sequence[int]) -> bool:
        """Whether an algorithm knows the topology, and its slots leave enough of their memory for others."""
        if self.topology not in algorithm.kinds:
            return False
        try:
            directions = len(algorithm.neighbours(0, 0, world))
        except InputError:  # it has no way to join so many
            return False
        queues = self.slots_of(algorithm, world, cubes, pes)
        assert queues.slot_bytes
        rings = max(directions, 1) * queues.n_slots
        return not rings or queues.slot_bytes <= find_most_bytes(self.places, queues.kind, rings)

    @cached_property
    def _grid_slot_bytes(self) -> int:
        """The bytes of a slot by the links of the first SIP's PEs to their neighbours on the grid."""
        world, pes = self.world(*self.mesh), self.places.pes_per_cube
        cost = Cost(self.device.machine, grid_neighbours, world, self.sips, 0, 0, 1)
        most = len(DIRECTIONS) + (pes - 1) * self._has_all_of_cube
        return self._size_slots(self.config.queues(), most, [cost.links(side, ranks=(0,)) for side in DIRECTIONS])

    def _size_slots(self, queues: Queues, directions: int, links: Sequence[Sequence[Link]]) -> int:
        """The bytes of a slot in rings for so many directions of a PE; all of them leave half of what is free of its memory."""
        rings = max(directions, 1) * queues.n_slots
        most = find_most_bytes(self.places, queues.kind, rings)
        free = self.device.free_bytes(self.sips[0], queues.kind) // 2 // rings
        return find_slot_bytes([link for side in links for link in side], min(most, free, self._keeps))

    @cached_property
    def _keeps(self) -> int:
        """The bytes of sums that a kernel may keep at a time: a quarter of its scratch, since a tree keeps two batches."""
        return int(self.device.machine.figures["pe.scratch_bytes"]) // 4

    def _find_kind(self, algorithms: Sequence[Algorithm]) -> int:
        for algorithm in algorithms:
            if self.topology in algorithm.kinds:
                return algorithm.kinds[self.topology]
        find_kind(self.topology)
        known = algorithms[0]
        raise InputError(
            f"algorithm {known.name!r} knows {', '.join(known.kinds)}, but the SIPs are a {self.topology}; "
            "choose another algorithm or topology"
        )

    def _find_grid(self) -> tuple[int, int]:
        places = self.places
        if self.world_size == places.sip_count and self.topology == places.sip_topology:
            return places.sip_w, places.sip_h
        return find_grid(self.world_size, self.topology)


def _who(algorithm: Algorithm, world: World, cubes: Sequence[int], pes: Sequence[int]) -> Who:
    return algorithm.name, world.cube_w, world.cube_h, tuple(cubes), tuple(pes)
