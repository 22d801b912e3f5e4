"""DMA transfer of a PE at the command of the host, without a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.errors import AddressError
from kernbench.machine.address_decoder import AddressDecoder
from kernbench.machine.families.sip.places import pe_path
from kernbench.machine.intents import Intent, RouteKind

if TYPE_CHECKING:
    from kernbench.host.messages import PeDma
    from kernbench.machine.families.sip.places import PePlace
    from kernbench.program.program import Program
    from kernbench.program.thread import Thread


def lower_dma(program: Program, thread: Thread, place: PePlace, message: PeDma) -> None:
    """Lower the transfer. It holds the DMA channel for the whole round trip; its address is physical and needs no look-up.

    Errors: AddressError for a shard that is in no memory.
    """
    machine, shard = program.machine, message.shard
    found = AddressDecoder(machine.places).find(shard.pa)
    if found is None or shard.nbytes > found[2]:
        raise AddressError(
            f"PeDma of {pe_path(message.sip, message.cube, message.pe)}: {shard.nbytes} bytes at {shard.pa:#x} do not lie "
            "in one memory of the machine; give the physical address of a shard"
        )
    node, offset, _ = found
    kind, channel = (RouteKind.WRITE, place.dma_write) if message.write else (RouteKind.READ, place.dma_read)
    done = program.counter(f"the end of a transfer of {thread.name}")
    thread.move(
        machine.routing.route(place.dma, node, Intent.PE_DMA, kind),
        shard.nbytes,
        stripe=offset // int(machine.figures["hbm.burst_bytes"]) % machine.terminals[node].stripes,
        done=done,
        hold=channel,
        lead=program.duration(("pe_dma.overhead", 1)),
        tag=program.tag("dma_write" if message.write else "dma_read", "memory"),
    )
    thread.wait(done, 1)
