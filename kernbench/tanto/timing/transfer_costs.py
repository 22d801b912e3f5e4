"""What a transfer costs the processor that issues it: cycles, from counts of what the functions of the interface execute.

To issue a packet a processor looks at the interface until its command buffer is free, sets registers of it, and counts the
packet in its own memory. Before that it finds out where the data is: in a pipe or local, and for each page of a global buffer,
in which bank and where there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransferCosts:
    """Cycles of the steps of transfers."""

    begin: float  # of a transfer, whatever its packets
    pages: float  # of a transfer with a global buffer, beside its pages
    page: float  # to find a page
    read: float  # to issue a packet that reads
    write: float  # to issue a packet that writes
    context: float  # to set up moves
    move: float  # to issue a move whose context is set up

    @classmethod
    def of(cls, figures: Mapping[str, float]) -> TransferCosts:
        """From the fields of a `tensix_core`."""
        operation, local = figures["operation_cycles"], figures["local_cycles"]
        look = figures["register_cycles"] + operation  # and a branch
        count = 3 * operation  # a load, a sum and a store; what sets the registers hides the rest of the load

        def issue(name: str, counters: float) -> float:
            return look + figures[f"{name}_registers"] * operation + counters * count

        return cls(
            begin=figures["transfer_operations"] * operation + figures["transfer_loads"] * local,
            pages=figures["buffer_operations"] * operation,
            page=figures["page_operations"] * operation
            + figures["page_products"] * figures["multiply_cycles"]
            + figures["page_loads"] * local,
            read=issue("read", figures["read_counters"]),
            write=issue("write", figures["write_counters"]),
            context=issue("move", 0),
            move=issue("move", figures["read_counters"]),
        )
