"""Multicasts in networks with credits: times alone, copies that do not hold each other up, and standing still."""

from __future__ import annotations

from typing import Any

import pytest

from kernbench.engine import Session
from kernbench.errors import DeadlockError
from kernbench.machine import load_machine
from kernbench.machine.network.routes import Routing
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.run import FlowResult, run_flows
from tests.engine.difference import describe_difference
from tests.engine.fresh import draw_seeds
from tests.engine.invariants import find_broken
from tests.engine.random_programs import draw_program
from tests.naive.engine import NaiveEngine

FLIT = 256
LOOK = 97  # events between two looks at the memory
MANY = "9+18+7+63+0"
NODES = "0+1+2+3+4+5+6+7+8+9+10+11+12+13+14+15"


def run(*texts: str, name: str = "mesh_8x8_credit", **fields: Any) -> FlowResult:
    fields = {"packet_flits": 8, "buffer_flits": 8} | fields if name.startswith("mesh") else fields
    return run_flows(load_machine(name, fields), parse_flows(texts), "flit")


@pytest.mark.parametrize("flits", [1, 5, 40])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"speculative": False, "allocator": "round_robin"},
        {"allocator": "age"},
        {"internal_speedup": 2, "reuse": "tail_credit"},
    ],
)
def test_a_multicast_alone_comes_to_each_destination_as_a_flow_of_its_own(flits: int, fields: dict[str, Any]) -> None:
    arrivals = run(f"0:{MANY}:{flits * FLIT}", **fields).arrivals
    assert len(arrivals) == 5
    for _, name, fs in arrivals:
        assert fs == run(f"0:{name}:{flits * FLIT}", **fields).arrival_fs[0], name


def test_each_flit_crosses_each_link_once() -> None:
    """Along the row to column 7, down that column, one down from node 1, two down from node 2; and those of endpoints."""
    assert run(f"0:{MANY}:{40 * FLIT}").flit_hops == 40 * (7 + 7 + 1 + 2 + 1 + 5)


def test_a_copy_that_is_held_up_does_not_hold_up_another() -> None:
    """Nodes 3 and 10 fill node 2. Packets to nodes 2 and 18 fork at its router.

    A copy to node 2 that gets its virtual channel late comes first from then on, so that to 18 waits for it if it is not over.
    """
    starts = [100 + 53 * at for at in range(6)]
    alone = [arrival.arrival_fs for arrival in run("0:2+18:2KiB").arrivals]
    many = [f"0:2+18:2KiB@{start}" for start in starts]
    arrivals = run(*many, *["3:2:64KiB"] * 4, *["10:2:64KiB"] * 4, virtual_channels=1).arrivals
    late = [arrival.arrival_fs - starts[at // 2] * 10**6 - alone[at % 2] for at, arrival in enumerate(arrivals)]
    packet_fs = 8 * 10**6
    assert max(late) > packet_fs
    for held_up, other in zip(late[0::2], late[1::2], strict=True):
        assert other == (0 if held_up >= packet_fs else held_up)


def test_multicasts_from_everywhere_to_everywhere_end() -> None:
    """Each node has one virtual channel, whose buffer holds one packet."""
    flows = [f"{node}:{NODES}:{20 * FLIT}" for node in range(16)]
    result = run(*flows, k=4, virtual_channels=1, buffer_flits=4, packet_flits=4)
    assert (result.end_fs > 0).all()
    assert len(result.arrivals) == 16 * 16


def test_packets_that_do_not_stand_whole_where_they_fork_would_stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Routing, "_find_packet_flits", lambda *_: 20)
    flows = [f"{node}:{NODES}:{20 * FLIT}" for node in range(16)]
    with pytest.raises(DeadlockError) as caught:
        run(*flows, k=4, virtual_channels=1, buffer_flits=2, packet_flits=20)
    said = str(caught.value)
    assert said.startswith("no packet has moved since ")
    assert " and waits for a channel of " in said


def test_writes_to_many_memories_end_as_the_last_of_them_alone() -> None:
    flow = "sip0.cube0.pe0:sip0.cube0.pe1+sip0.cube0.pe2+sip0.cube3.pe0:64KiB"
    single = run("sip0.cube0.pe0:sip0.cube3.pe0:64KiB", name="sip_2x4x4_credit", **{"noc_port.buffer_flits": 8})
    many = run(flow, name="sip_2x4x4_credit", **{"noc_port.buffer_flits": 8})
    assert len(many.arrivals) == 3
    assert many.end_fs[0] == single.end_fs[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["credit_multicasts", "credit_sip_multicasts"])
def test_no_credit_is_lost_among_copies(kind: str) -> None:
    for seed in draw_seeds(0.008):
        program = draw_program(kind, seed)
        session = Session(program, "flit")
        for number, _ in enumerate(iter(session.step, False)):
            assert number % LOOK or find_broken(session) is None, f"program {kind} {seed}"
        assert find_broken(session) is None, f"program {kind} {seed}"
        difference = describe_difference(session, NaiveEngine(program).run())
        assert difference is None, f"program {kind} {seed}: {difference}"
