"""MMU updates and neighbour tables: messages from the host to each PE, and acknowledgements back.

They go host → io_cpu → m_cpu of each cube → pe_mmu or pe_ipcq of each PE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.host.device.stream import Command, Stream
from kernbench.host.messages import MmuUnmap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernbench.host.messages import MmuMap
    from kernbench.machine.machine import Machine
    from kernbench.program.thread import Thread
    from kernbench.tl.lowering.ipcq import NeighbourTable, Where

    TablesOfSip = Mapping[int, Mapping[int, NeighbourTable]]  # by cube and PE


def send_mmu_update(stream: Stream, message: MmuMap) -> int:
    """Send each PE the update of its MMU; returns the row of the host thread that waits for completion."""
    program, places, figures = stream.program, stream.machine.places, stream.machine.figures
    name = "mmu_unmap" if isinstance(message, MmuUnmap) else "mmu_map"
    sizes = int(figures["command.bytes"]), int(figures["mmu.entry_bytes"])
    command = Command.carrying(name, *sizes, message.targets)
    tag = program.tag(name)

    def leaf(m: Thread, cube: int, pe: int, done: int) -> None:
        mmu = places.pe(message.sip, cube, pe).mmu
        stream.send(m, places.m_cpu(message.sip, cube), mmu, command.pe_bytes[cube][pe], done, tag)

    return stream.command(command, leaf)[1]


def by_cube(tables: Mapping[Where, NeighbourTable]) -> dict[int, dict[int, dict[int, NeighbourTable]]]:
    """Neighbour tables by SIP, cube and PE."""
    found: dict[int, dict[int, dict[int, NeighbourTable]]] = {}
    for (sip, cube, pe), table in tables.items():
        found.setdefault(sip, {}).setdefault(cube, {})[pe] = table
    return found


def neighbour_command(machine: Machine, targets: TablesOfSip) -> Command:
    """The command that sends each PE its neighbours."""
    entries = {cube: {pe: tuple(table.items()) for pe, table in pes.items()} for cube, pes in targets.items()}
    sizes = int(machine.figures["command.bytes"]), int(machine.figures["mmu.entry_bytes"])
    return Command.carrying("ipcq_install", *sizes, entries)


def send_neighbour_tables(stream: Stream, sip: int, targets: TablesOfSip) -> int:
    """Send each PE its neighbours; returns the row of the host thread that waits for completion."""
    places, command = stream.machine.places, neighbour_command(stream.machine, targets)
    tag = stream.program.tag(command.name)

    def leaf(m: Thread, cube: int, pe: int, done: int) -> None:
        ipcq = places.pe(sip, cube, pe).ipcq
        stream.send(m, places.m_cpu(sip, cube), ipcq, command.pe_bytes[cube][pe], done, tag)

    return stream.command(command, leaf)[1]
