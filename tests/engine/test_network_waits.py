"""What flits wait for in networks with credits: each cause alone, and all of them against the interpreter."""

from __future__ import annotations

from itertools import chain

import pytest

from kernbench.engine import Session
from kernbench.engine.network_waits import CAUSES
from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.program.program import Program
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.run import run_flows
from tests.engine.difference import describe_difference, describe_waits
from tests.engine.fresh import draw_seeds
from tests.engine.random_programs import draw_program
from tests.naive.engine import NaiveEngine

FLIT = 256
ROW = {"w": 5, "h": 1}
ONWARD = "node[0][1].router -> node[0][2].router"  # of a row, where what comes from nodes 0 and 1 meets


def waits_of(*texts: str, name: str = "mesh_8x8_credit", **fields) -> dict[str, dict[str, float]]:
    """What waited, by link and cause in ns, without what is 0."""
    found = run_flows(load_machine(name, fields), parse_flows(texts), "flit", count_waits=True).network
    assert found is not None
    return {
        link["link"]: {cause: link[f"{cause}_ns"] for cause in CAUSES if link[f"{cause}_ns"]}
        for link in found.list_links()
    }


def find_difference(program: Program, mode: str) -> str | None:
    """What differs between the counts, and all else, of the loop and of the interpreter."""
    program.flush()
    naive = NaiveEngine(program).run()
    session = Session(program, mode, count_waits=True)
    session.run()
    return describe_difference(session, naive) or describe_waits(session, naive)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["credit", "credit_multicasts", "credit_sip", "credit_sip_multicasts"])
def test_counts_are_those_of_the_interpreter_and_sum_to_the_time_in_buffers(kind):
    for seed in chain((0, 2, 4, 5, 7, 10), draw_seeds(0.008)):
        difference = find_difference(draw_program(kind, seed), ("flit", "hybrid")[seed % 2])
        assert difference is None, f"{kind} {seed}: {difference}"


# Each cause in a row of nodes. The row's cycle is 1 ns; every flit that waits n cycles is n flit-cycles, whatever for.


def row_waits(*texts: str, **fields) -> dict[str, dict[str, float]]:
    return waits_of(*texts, **{"packet_flits": 64, "buffer_flits": 64} | ROW | fields)


def test_a_packet_alone_waits_for_nothing():
    assert row_waits(f"0:3:{5 * FLIT}") == {}


def test_routing_is_in_the_pipeline_and_holds_up_the_flits_behind():
    """A head is routed for two cycles at each of four routers; the four flits behind it queue."""
    found = row_waits(f"0:3:{5 * FLIT}", routing_ns=2)
    assert list(found.values()) == [{"moves": 5, "pipeline": 2, "queueing": 4 * 2}] * 4


def test_a_packet_waits_for_the_only_virtual_channel():
    """That of node 0 has come a cycle before; the other has its 20 flits in front of it, but for the first."""
    found = row_waits(f"0:3:{20 * FLIT}", f"1:3:{20 * FLIT}@4", virtual_channels=1)
    assert found == {ONWARD: {"moves": 40, "no_channel": 19, "queueing": 19 * 19}}


def test_of_two_heads_one_loses_the_only_virtual_channel():
    """They ask in the same cycle; in the next ones the channel is not free."""
    found = row_waits(f"0:3:{20 * FLIT}", f"1:3:{20 * FLIT}@3", virtual_channels=1)
    assert found == {ONWARD: {"moves": 40, "lost_channel": 1, "no_channel": 19, "queueing": 19 * 20}}


def test_flits_of_two_inputs_take_turns_at_an_output():
    """There is a channel for both; one loses the first allocation, then each waits while the other passes."""
    found = row_waits(f"0:3:{20 * FLIT}", f"1:3:{20 * FLIT}@3", virtual_channels=2)
    assert found == {ONWARD: {"moves": 40, "lost_channel": 1, "lost_switch": 2 * 19, "queueing": 19 * 19}}


def test_a_short_buffer_waits_for_credits():
    """A credit of the link is back after 6 cycles, one of the source after 4 and the wait of the flit that it is for."""
    found = row_waits(f"0:3:{20 * FLIT}", virtual_channels=1, buffer_flits=1)
    assert found["node[0][0].router -> node[0][1].router"] == {"moves": 20, "no_credit": 19 * 2}
    assert list(found) == ["node[0][0] -> node[0][0].router", "node[0][0].router -> node[0][1].router"]


def test_flits_queue_behind_a_slow_link():
    """A flit takes four cycles there, so each but the first waits three at the front."""
    found = row_waits(f"0:3:{20 * FLIT}", link_gbs=64, endpoint_gbs=256)
    waits = found["node[0][0].router -> node[0][1].router"]
    assert (waits["moves"], waits["link_busy"]) == (20, 19 * 3)


def test_flits_queue_behind_a_fast_switch():
    found = row_waits(f"0:3:{20 * FLIT}", f"1:3:{20 * FLIT}@3", internal_speedup=2)
    assert found[ONWARD]["link_busy"] > 10 * found[ONWARD]["lost_switch"] > 0


def test_a_transfer_waits_at_its_source_for_the_one_before():
    found = row_waits(f"0:3:{20 * FLIT}", f"0:3:{10 * FLIT}")
    assert found == {"node[0][0] -> node[0][0].router": {"source": 20}}


def test_a_slow_memory_backs_up_into_the_network():
    fields = {"flow_control": "credit", "hbm.channel_gbs": 8}
    found = waits_of("sip0.cube0.pe0:sip0.cube0.pe0:16KiB", name="tiny", **fields)
    waits = found["sip0.cube0.r0c0 -> sip0.cube0.hbm_ctrl.pe0"]
    assert set(waits) == {"moves", "queueing", "no_credit", "memory"}
    assert waits["moves"] == 64


def test_nothing_is_counted_unless_it_is_asked_for():
    machine, flows = load_machine("mesh_8x8_credit"), parse_flows(["0:3:4KiB", "1:3:4KiB"])
    plain, counted = run_flows(machine, flows), run_flows(machine, flows, count_waits=True)
    assert plain.network is None
    assert counted.network is not None
    assert plain.end_fs.tolist() == counted.end_fs.tolist()


def test_machines_without_credits_have_no_counts():
    with pytest.raises(InputError, match="the links of machine mesh_8x8 have no credits"):
        run_flows(load_machine("mesh_8x8"), parse_flows(["0:3:4KiB"]), count_waits=True)
