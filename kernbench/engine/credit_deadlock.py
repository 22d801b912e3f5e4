"""The message of a network that stands still: which packets hold which buffers, and what they wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.units import format_ns
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from kernels_jit.layout.records import words_of

if TYPE_CHECKING:
    from kernbench.engine.memory import Memory
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program

_MOST = 8


def describe_packets(program: Program, memory: Memory, machine: Machine) -> str:
    """One sentence that names the packets at the fronts of buffers, the flits that they hold there, and what they wait for."""
    assert memory.credit
    credit, links = memory.credit, machine.edge_count
    since_fs = credit["moved"] * credit["cycle_fs"]
    channels = memory.rows(_first_channel(memory, links), r.CHANNEL, links * credit["channels"])
    held = np.flatnonzero(channels["n"] > 0)
    parts = [_describe(program, memory, machine, int(number), channels[number]) for number in held[:_MOST]]
    if len(held) > _MOST:
        parts.append(f"{len(held) - _MOST} more packets")
    return f"no packet has moved since {format_ns(since_fs)}: " + "; ".join(parts)


def _first_channel(memory: Memory, links: int) -> int:
    assert memory.credit
    return int(memory.rows(memory.credit["links"], r.LINK, links)["channels"][0])


def _describe(program: Program, memory: Memory, machine: Machine, number: int, channel: Any) -> str:
    assert memory.credit
    link, index = divmod(number, memory.credit["channels"])
    place = int(channel["buffer"] + words_of(r.BUFFERED) * channel["first"])
    flit = int(memory.rows(place, r.BUFFERED, 1)["flit"][0])
    transfer = memory.rows(flit >> r.PLACE_SHIFT, r.TRANSFER, 1)[0]
    name = program.threads[int(transfer["owner"]) >> codes.SEQ_BITS].name
    holds = f"a packet of {name} holds {channel['n']} flits of channel {index} of {machine.station_name[link]}"
    onward = (int(channel["onward"]) - memory.credit["links"]) // words_of(r.LINK)
    what = "a channel" if channel["given"] == codes.NONE else "a credit"
    return f"{holds} and waits for {what} of {machine.station_name[onward]}"
