"""The estimated time of sending neighbour tables to PEs: what a wiring costs before it is used first.

As the estimates of algorithms it is a closed form on this machine: the way of a command from the host to the farthest PE and
back, each CPU's work on it, and the bytes for all cubes behind each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.ccl.alpha_beta import Link, find_link
from kernbench.host.device.mmu_updates import neighbour_command
from kernbench.machine.intents import Intent
from kernbench.program.program import unrounded_fs
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from collections.abc import Mapping

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
