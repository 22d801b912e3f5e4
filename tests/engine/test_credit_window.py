"""How long windows of a network with credits are: as long as what is seen soonest on the links and memories that are used."""

from __future__ import annotations

from typing import Any

import pytest

from kernbench.engine import Session
from kernbench.machine import load_machine
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.lower import Traffic
from tests.engine.difference import find_difference

WRITE, READ = "sip0.cube0.pe0:sip0.cube0.pe1:2KiB", "sip0.cube0.pe0:sip0.cube0.pe1:2KiB:read"
MESSAGE = "sip0.cube0.pe0.pe_dma:sip0.cube0.pe1.pe_ipcq:2KiB"  # its last link is within a PE, and fast
SLOW_LINKS = {"noc.gbs": 16, "pe_dma.gbs": 16}  # a flit of 128 B takes 16 cycles of 0.5 ns, and the wire a part of one
SLOW_SWITCHES = {f"{port}_port.switch_allocation_ns": 20 for port in ("noc", "memory")}
SLOW_CREDITS = {f"{port}_port.credit_ns": 20 for port in ("noc", "memory")}
SLOW_NODE = {"pe_ipcq.overhead_ns": 20}
FAST_MEMORY = {"hbm.channel_gbs": 256}  # a flit takes 1 cycle
SLOW_MEMORY = {"hbm.channel_gbs": 4}  # 64 cycles, or 32 for a burst of 64 B


@pytest.mark.parametrize(
    ("flow", "fields", "cycles"),
    [
        pytest.param(WRITE, SLOW_LINKS, 2, id="credits"),
        pytest.param(WRITE, SLOW_SWITCHES, 2, id="source"),
        pytest.param(READ, SLOW_SWITCHES | SLOW_CREDITS, 2, id="source of what is read"),
        pytest.param(WRITE, SLOW_CREDITS | SLOW_LINKS | FAST_MEMORY, 1, id="memory"),
        pytest.param(WRITE, SLOW_CREDITS | SLOW_LINKS, 8, id="slow memory"),  # of a burst
        pytest.param(WRITE, SLOW_CREDITS | SLOW_LINKS | SLOW_MEMORY, 17, id="slow links"),
        pytest.param(MESSAGE, SLOW_CREDITS | SLOW_LINKS | SLOW_NODE, 1, id="end"),  # without the node's overhead
    ],
)
def test_a_window_is_as_long_as_what_is_seen_soonest(flow: str, fields: dict[str, Any], cycles: int) -> None:
    machine = load_machine("tiny", {"flow_control": "credit", **fields})
    program = Traffic(machine, parse_flows([flow, f"{flow}@3.2", f"{flow}@40"])).program
    memory, _ = Session(program, "flit").lay()
    assert memory.credit is not None
    assert memory.credit["window"] == cycles
    assert find_difference(program) is None
