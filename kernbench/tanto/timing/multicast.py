"""Lowering of multicasts: writes to many cores in one traversal of a tree of links.

Signals that follow a payload leave the sender behind it and take the same tree, so none is early.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.ops import NONE

if TYPE_CHECKING:
    from kernbench.tanto.cores.storage import Core, SemaphorePart
    from kernbench.tanto.timing.dataflow_rows import DataflowRows


def multicast_data(rows: DataflowRows, c: int, cores: list[Core], nbytes: int, arrive: Sequence[int]) -> None:
    """Write a payload to the L1 of many cores, in packets of the network; the last adds 1 to the counter of each."""
    lowering = rows.lowering
    rows.buffer.spend(c, rows.costs.begin)
    while cores and nbytes > 0:
        size = min(nbytes, lowering.packet_bytes)
        nbytes -= size
        _send(rows, c, cores, size, lowering.multicast_tag, [NONE] * len(cores) if nbytes else arrive)


def multicast_signals(rows: DataflowRows, c: int, cores: list[Core], parts: list[SemaphorePart]) -> None:
    """Change a semaphore on many cores; each changes when its own signal arrives."""
    lowering = rows.lowering
    rows.buffer.spend(c, rows.costs.begin)
    if cores:
        _send(rows, c, cores, lowering.signal_bytes, lowering.signal_tag, [part.counter for part in parts])


def _send(rows: DataflowRows, c: int, cores: Sequence[Core], nbytes: int, tag: int, arrive: Sequence[int]) -> None:
    """Write some bytes to many cores; 1 is added to the counter of each, if it has one, when they are there."""
    counters = {rows.places.l1(core): counter for core, counter in zip(cores, arrive, strict=True)}
    done, hold, cycles = rows.write_counter, rows.write_server, rows.costs.write
    if len(cores) == 1:
        route = rows.route(rows.places.l1(cores[0]), RouteKind.WRITE)
        rows.buffer.move(c, cycles, tag, route, nbytes, done, hold, arrive[0])
    else:
        route = rows.lowering.routing.multicast(rows.interface, [*counters], Intent.ALL, RouteKind.WRITE)
        rows.buffer.move(c, cycles, tag, route, nbytes, done, hold)
        rows.buffer.arrivals(c, [counters[node] for node in rows.lowering.routing.destinations(route)])
    rows.writes += 1
