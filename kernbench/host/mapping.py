"""Telling MMUs: a message that travels host → io_cpu → m_cpu of each cube → pe_mmu of each PE, and its acknowledgement back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.host.messages import MmuUnmap
from kernbench.host.stream import Command, Stream

if TYPE_CHECKING:
    from kernbench.host.messages import MmuMap
    from kernbench.program.program import Thread


def tell(stream: Stream, message: MmuMap) -> int:
    """Send every PE what its MMU is to change; returns the row of the host thread that waits for completion."""
    program, places, figures = stream.program, stream.machine.places, stream.machine.figures
    name = "mmu_unmap" if isinstance(message, MmuUnmap) else "mmu_map"
    sizes = int(figures["command.bytes"]), int(figures["mmu.entry_bytes"])
    command = Command.carrying(name, *sizes, message.targets)
    tag = program.tag(name)

    def leaf(m: Thread, cube: int, pe: int, done: int) -> None:
        mmu = places.pe(message.sip, cube, pe).mmu
        stream.send(m, places.m_cpu(message.sip, cube), mmu, command.pe_bytes[cube][pe], done, tag)

    return stream.command(command, leaf)[1]
