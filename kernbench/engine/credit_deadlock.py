"""The message of a deadlocked network: which packets hold which buffers, and what they wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.units import format_ns
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from kernels_jit.layout.records import words_of

if TYPE_CHECKING:
    from kernbench.engine.credit_memory import CreditTables
    from kernbench.engine.memory import Memory
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program

_MOST = 8


def describe_packets(program: Program, memory: Memory, machine: Machine) -> str:
    """One sentence that names the packets at the fronts of buffers, the flits that they hold there, and what they wait for."""
    credit = memory.credit
    assert credit
    flits = credit.held
    held = np.flatnonzero(flits).tolist()
    parts = [_describe(program, memory, credit, machine, number, int(flits[number])) for number in held[:_MOST]]
    if len(held) > _MOST:
        parts.append(f"{len(held) - _MOST} more packets")
    return f"no packet has moved since {format_ns(credit['moved'] * credit['cycle_fs'])}: " + "; ".join(parts)


def _describe(program: Program, memory: Memory, credit: CreditTables, machine: Machine, number: int, flits: int) -> str:
    input_vc: Any = credit.input_vcs[number]
    link, index = int(credit.link_of_vc[number]), int(input_vc["index"])
    flit = int(memory.rows(int(input_vc["front"]), r.BUFFERED, 1)["flit"][0])
    transfer = memory.rows(flit >> r.PLACE_SHIFT, r.TRANSFER, 1)[0]
    name = program.threads[int(transfer["owner"]) >> codes.SEQ_BITS].name
    front: Any = input_vc
    if input_vc["out_link"] == r.COPIES:
        copies = memory.rows(int(input_vc["out_vc"]), r.COPY, int(input_vc["allowed"]))
        front = copies[np.flatnonzero(copies["passed"] == 0)[0]]
    holds = f"a packet of {name} holds {flits} flits of channel {index} of {machine.station_name[link]}"
    out_link = (int(front["out_link"]) - credit["links"]) // words_of(r.LINK)
    what = "a channel" if front["out_vc"] == codes.NONE else "a credit"
    return f"{holds} and waits for {what} of {machine.station_name[out_link]}"
