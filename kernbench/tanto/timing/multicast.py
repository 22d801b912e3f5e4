"""Lowering of multicasts: the one place that knows how a write to many cores becomes transfers.

The payload travels once, to the core that is last on the network's way; the links on the way and the interface of the sender
carry it once, as in hardware. The other cores are on this way or on branches of it, which the model leaves free. Signals that
follow are one small transfer to each core. They leave the sender behind the payload and take the same way, so none is early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.machine.intents import RouteKind

if TYPE_CHECKING:
    from kernbench.tanto.cores.storage import Core, SemaphorePart
    from kernbench.tanto.timing.dataflow_rows import DataflowRows


def multicast_data(rows: DataflowRows, c: int, cores: list[Core], nbytes: int) -> None:
    """Write a payload to the L1 of many cores."""
    lowering, buffer = rows.lowering, rows.buffer
    buffer.spend(c, lowering.issue_cycles)
    if not cores:
        return
    last = max(cores, key=lambda core: (rows.places.hops(rows.network, rows.core, core), core))
    route = rows.route(rows.places.l1(last), RouteKind.WRITE)
    while nbytes > 0:
        size = min(nbytes, lowering.packet_bytes)
        buffer.move(lowering.multicast_tag, route, size, done=rows.write_counter, hold=rows.write_server)
        rows.writes += 1
        nbytes -= size


def multicast_signals(rows: DataflowRows, c: int, cores: list[Core], parts: list[SemaphorePart]) -> None:
    """Change a semaphore on many cores."""
    rows.buffer.spend(c, rows.lowering.issue_cycles)
    for core, part in zip(cores, parts, strict=True):
        rows.send_signal(core, part)
