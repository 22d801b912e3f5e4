"""Neighbour tables of PEs: the wiring of an algorithm on the PEs that take part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernbench.ccl.alpha_beta import Link, find_link
from kernbench.ccl.broadcast_in_sip import cube_queues
from kernbench.ccl.wiring import all_of_cube, check_wiring, grid_neighbours, intra_neighbours
from kernbench.host.device.mmu_updates import neighbour_command
from kernbench.machine.intents import Intent
from kernbench.program.program import unrounded_fs
from kernbench.tl.lowering.ipcq import Ring
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernbench.ccl.broadcast_in_sip import Copies
    from kernbench.ccl.config import Intra, Queues
    from kernbench.ccl.wiring import Neighbours, Peer, World
    from kernbench.machine.families.sip.places import Places
    from kernbench.machine.machine import Machine
    from kernbench.tl.lowering.ipcq import NeighbourTable


def estimate_install_ns(machine: Machine, sip: int, targets: Mapping[int, Mapping[int, NeighbourTable]]) -> float:
    """The time (ns) from the issue of tables, by cube and PE of a SIP, until the host has the last completion."""
    places, command = machine.places, neighbour_command(machine, targets)
    host, io_cpu = places.pcie_ep(sip), places.io_cpu(sip)
    m_cpus = {cube: places.m_cpu(sip, cube) for cube in targets}
    to_io = _link(machine, host, io_cpu)
    to_cubes = [(cube, _link(machine, io_cpu, m_cpu)) for cube, m_cpu in m_cpus.items()]
    sent = command.host_bytes * to_io.beta_ns + sum(command.cube_bytes[cube] * link.beta_ns for cube, link in to_cubes)
    cube, farthest = max(to_cubes, key=lambda one: one[1].alpha_ns)
    last = max(
        link.alpha_ns + command.pe_bytes[cube][pe] * link.beta_ns
        for pe in targets[cube]
        for link in [_link(machine, m_cpus[cube], places.pe(sip, cube, pe).ipcq)]
    )
    ways = 2 * (to_io.alpha_ns + farthest.alpha_ns) + last
    return sent + ways + _act_ns(machine, host) + 2 * (_act_ns(machine, io_cpu) + _act_ns(machine, m_cpus[cube]))


def _link(machine: Machine, source: int, target: int) -> Link:
    return find_link(machine, np.array(machine.routing.edges_between(source, target, Intent.ALL), np.int64))


def _act_ns(machine: Machine, node: int) -> float:
    return unrounded_fs(((f"{machine.node_kind[node]}.overhead", 1),), machine.figures) / FS_PER_NS


Where = tuple[int, int, int]  # sip, cube, pe
Tables = dict[Where, dict[str, Ring]]


def grid_tables(world: World, sips: Sequence[int], places: Places, queues: Queues, intra: Intra) -> Tables:
    """The table of every PE of every rank along the grid: the PEs of its cube (or all of them), the mesh of cubes, the SIPs."""
    tables = neighbour_tables(
        "the grid", grid_neighbours, world, sips, range(places.cubes_per_sip), range(places.pes_per_cube), queues
    )
    pes = places.pes_per_cube
    within = [intra_neighbours(pe, pes) | (all_of_cube(pe, pes) if intra == "all" else {}) for pe in range(pes)]
    for (sip, cube, pe), table in tables.items():
        table |= {name: _ring(queues, sip, cube, other, back) for name, (other, back) in within[pe].items()}
    return tables


def neighbour_tables(
    name: str,
    neighbours: Neighbours,
    world: World,
    sips: Sequence[int],
    cubes: Sequence[int],
    pes: Sequence[int],
    queues: Queues,
) -> Tables:
    """The table of every working PE: those of `pes` in `cubes` of each rank's SIP.

    Where the world has one cube, every cube of `cubes` is a world of its own, of its fellows on the other SIPs, with its lane.
    Errors: InputError for a wiring that does not lead back, naming the module.
    """
    apart = world.cubes == 1
    wirings: dict[World, dict[tuple[int, int], dict[str, Peer]]] = {}  # by lane
    for beside in {world.beside(cube, pe): None for cube in cubes for pe in pes}:
        wirings[beside] = {
            (rank, cube): dict(neighbours(rank, cube, beside))
            for rank in range(world.ranks)
            for cube in range(world.cubes)
        }
        check_wiring(name, wirings[beside])
    return {
        (sips[rank], cube, pe): {
            direction: _ring(queues, sips[peer.rank], cube if apart else peer.cube, pe, peer.back)
            for direction, peer in wirings[world.beside(cube, pe)][rank, 0 if apart else cube].items()
        }
        for rank in range(world.ranks)
        for cube in cubes
        for pe in pes
    }


def copy_tables(copies: Copies, sips: Sequence[int], queues: Queues) -> Tables:
    """The tables of all PEs that hold a copy of a replicated tensor, for multicasts from PE 0 of each cube."""
    return {
        (sip, cube, pe): {
            direction: Ring(
                sip, other, at, back, queues.n_slots, queues.slot_bytes or 0, queues.kind, queues.credit_bytes
            )
            for direction, (other, at, back) in table.items()
        }
        for sip in sips
        for (cube, pe), table in cube_queues(copies).items()
    }


def _ring(queues: Queues, sip: int, cube: int, pe: int, back: str) -> Ring:
    assert queues.slot_bytes  # the process group has sized them
    return Ring(sip, cube, pe, back, queues.n_slots, queues.slot_bytes, queues.kind, queues.credit_bytes)
