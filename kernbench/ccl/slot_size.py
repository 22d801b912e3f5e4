"""The size of the slots of queues, where none is given: latency times bandwidth, as far as the memory of the slots allows.

A message of s bytes holds its sender's channel for alpha + s * beta, so of the bandwidth of the link it gets
s / (s + alpha / beta). With LATENCIES times the product of latency and bandwidth, alpha / beta, that is 16 / 17 or more.
The slots of a queue together hold many times what is under way on its link, so that no sender waits for a credit. All slots
of a PE take at most a fourth of the memory that they lie in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernbench.ccl.alpha_beta import Link
    from kernbench.machine.families.sip.places import Places

LATENCIES = 16
LEAST_BYTES = 256


def find_slot_bytes(links: Iterable[Link], most_bytes: int) -> int:
    """The least power of two that is LATENCIES times the latency-bandwidth product of every link, and at most `most_bytes`."""
    wanted = max((LATENCIES * link.alpha_ns / link.beta_ns for link in links if link.beta_ns), default=0.0)
    slot = LEAST_BYTES
    while slot < wanted and 2 * slot <= most_bytes:
        slot *= 2
    return slot


def find_most_bytes(places: Places, kind: str, slots: int) -> int:
    """The bytes of each of `slots` slots of a PE that together take a fourth of the PE's share of a memory."""
    shape = places.shape
    memory = {"tcm": shape.tcm_bytes, "sram": shape.sram_bytes // shape.pes_per_cube, "hbm": shape.slice_bytes}[kind]
    return memory // 4 // slots
