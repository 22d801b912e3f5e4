"""Long transfers that meet no other in networks with credits: they are suspended in hybrid mode, and that changes nothing."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kernbench.engine import Session
from kernbench.engine.memory import Memory
from kernbench.machine import Intent, RouteKind, load_machine
from kernbench.program.program import Program
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.lower import Traffic
from kernels_jit.layout import records as r
from kernels_jit.layout.codes import NONE
from tests.engine.invariants import find_broken
from tests.engine.random_programs import draw_program

FLIT = 256
MIB = 1 << 20
LOOK = 997  # events between two looks at the memory

# How a kept state covers the fields of each record: a field that none of these names is one that nobody has thought of.
COMPARED = {
    "LINK": "held sent free_fs grant first flits_left taken taken_last packets returns returned_n",
    "INPUT": "accept first",
    "CHANNEL": "onward given ready accept",
    "SENDER": "grant",
    "CREDIT_MEMORY": "queues replies reserved coming first packet left ready_fs writes_first",
    "REPLY": "flits cycle",
    "BUFFERED": "cycle flit",
    "ROUTER": "",
}
COUNTED = {"LINK": "flits flits_sent"}
SET_BY_OTHERS = {  # follows from fields that are compared, and from the route
    "LINK": "last",
    "CHANNEL": "allowed is_last front",  # where a ring begins does not matter
    "SENDER": "back credited",  # whether it has noted that a slot is empty makes no difference
    "CREDIT_MEMORY": "last",  # what `dues` leads to follows from the buffers
    "REPLY": "transfer",
    "ROUTER": "sources",  # and what `dues` leads to
}
FIXED = {
    "LINK": "channels senders buffers buffer_words channel_n outward dues full_fs port station crossing_fs crossing ending "
    "credit_fs receiver overhead_fs sending_fs sending source copies",
    "INPUT": "number channel_n returning buffers buffer_words dues link",
    "CHANNEL": "index input",
    "SENDER": "",
    "CREDIT_MEMORY": "dues room lanes outputs ports channel channel_n overhead_fs",
    "ROUTER": "dues room lanes outputs switch ports routing vc_allocation inputs_n outputs_n",
}
# Fields that are the same at the end of a run in both modes; others are places, or not settled.
AT_THE_END = {
    "LINK": "free_fs grant taken taken_last flits_sent flits_left returned_n",
    "CHANNEL": "accept",
    "SENDER": "grant",
    "CREDIT_MEMORY": "reserved packet left ready_fs writes_first",
}


def run(name: str, *texts: str, mode: str = "hybrid", **fields) -> Session:
    """A session that has run these flows."""
    session = Session(Traffic(load_machine(name, fields), parse_flows(texts)).program, mode)
    session.run()
    return session


def find_work(session: Session) -> int:
    """The number of services of flits that were done one by one, and of events."""
    return session.events - session.speculation.skipped


def check_equal(one: Session, other: Session) -> None:
    """Both have run with the same times and totals, and leave the same state of the network."""
    for name in (
        "op_issue_fs",
        "op_start_fs",
        "op_end_fs",
        "counter_value",
        "station_busy_fs",
        "station_flits",
        "now_fs",
    ):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    states = [find_end_state(session._memory) for session in (one, other)]
    assert states[0].keys() == states[1].keys()
    for name, values in states[0].items():
        assert np.array_equal(values, states[1][name]), name


def find_end_state(memory: Memory) -> dict[str, np.ndarray]:
    """What a run has left of the state of its network."""
    credit = memory.credit
    assert credit is not None
    links = memory.rows(credit["links"], r.LINK, credit["link_n"])
    memories = memory.rows(credit["memories"], r.CREDIT_MEMORY, credit["memory_n"])
    tables = {"LINK": links, "CHANNEL": credit.channels, "SENDER": credit.senders, "CREDIT_MEMORY": memories}
    found = {f"{name} {field}": tables[name][field].copy() for name in tables for field in AT_THE_END[name].split()}
    inputs = memory.rows(credit["inputs"], r.INPUT, credit["link_n"] * credit["input_speedup"])
    found |= {f"INPUT {field}": inputs[field].copy() for field in ("accept", "first")}
    found["flits in buffers"] = credit.held
    found["station free_fs"] = memory.stations["free_fs"].copy()
    found["station direction"] = memory.stations["direction"].copy()
    return found


@pytest.mark.parametrize(
    ("name", "flow"),
    [
        ("mesh_8x8_credit", "0:63"),
        ("sip_2x4x4_credit", "sip0.cube0.pe0:sip0.cube0.pe7"),
        ("sip_2x4x4_credit", "sip0.cube0.pe0:sip0.cube5.pe7"),
    ],
)
@pytest.mark.parametrize("kind", ["", ":read"])
def test_a_transfer_alone_costs_the_same_whatever_its_size(name, flow, kind):
    """But for what its shape decides: it is served until its state comes again, and at its end."""
    if kind and name.startswith("mesh"):
        kind = ""
    short, long = (run(name, f"{flow}:{size}{kind}") for size in (MIB, 16 * MIB))
    assert short.speculation.suspended == long.speculation.suspended == 1
    assert find_work(long) < 1.6 * find_work(short)
    assert find_work(long) < 0.02 * long.events
    check_equal(short, run(name, f"{flow}:{MIB}{kind}", mode="flit"))


def test_flit_mode_suspends_nothing():
    session = run("mesh_8x8_credit", f"0:1:{MIB}", mode="flit")
    assert session.speculation.suspended == session.speculation.skipped == 0
    assert session.events > session.flit_hops == 3 * MIB // FLIT


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_short_buffer_throttles_a_suspended_transfer_to_depth_over_loop(depth):
    """A credit is back six cycles after the one before; the whole transfer is one packet."""
    flits = 1 << 16
    fields = {"buffer_flits": depth, "virtual_channels": 1, "packet_flits": flits}
    session = run("mesh_8x8_credit", f"0:3:{flits * FLIT}", **fields)
    assert session.speculation.suspended == 1
    assert session.now_fs == pytest.approx(flits * 6 / depth * 1e6, rel=1e-3)
    assert find_work(session) < 4000


def test_a_transfer_that_is_met_is_resumed_and_suspended_again():
    """It reads from the slice that others write to, now and then."""
    long, others = "sip0.cube0.pe0:sip0.cube0.pe7:1MiB:read", "sip0.cube0.pe{0}:sip0.cube0.pe7:2000@{1}"
    flows = [long, *(others.format(pe, at) for pe, at in ((1, 900), (2, 1700), (3, 2500)))]
    hybrid, flit = (run("sip_2x4x4_credit", *flows, mode=mode) for mode in ("hybrid", "flit"))
    assert hybrid.speculation.resumed == 3
    assert hybrid.speculation.suspended == 4
    assert find_work(hybrid) < 0.3 * find_work(flit)
    check_equal(hybrid, flit)


def test_transfers_that_share_no_link_are_suspended_side_by_side():
    """They cross at routers, and short ones elsewhere go on meanwhile."""
    flows = [
        f"0:7:{MIB}",
        f"3:59:{MIB}",
        f"56:63:{MIB}",
        *(f"{24 + n % 8}:{31 - n % 8}:1KiB@{20 * n}" for n in range(150)),
    ]
    hybrid, flit = (run("mesh_8x8_credit", *flows, mode=mode) for mode in ("hybrid", "flit"))
    assert hybrid.speculation.suspended >= 2
    assert find_work(hybrid) < 0.6 * find_work(flit)
    check_equal(hybrid, flit)


@pytest.mark.parametrize("count_waits", [False, True])
def test_a_suspended_transfer_does_not_hold_up_the_router_that_it_begins_at(count_waits):
    """Two begin at one interface, at its two links; others pass it to one of the two, and short ones go on elsewhere."""
    own, home = "worker[1][1].niu0", "worker[1][1].l1"
    flows = [f"{own}:worker[2][2].l1:1MiB", f"{own}:{home}:2MiB@100"]
    flows += [f"worker[1][2].niu0:{home}:2000@{at}" for at in (9000, 29000)]
    flows += [f"worker[2][1].niu1:worker[1][2].l1:1KiB@{200 * n}" for n in range(150)]
    fields = {"tensix_port.virtual_channels": 5, "tensix_memory_port.virtual_channels": 4}
    rates = {"tensix_noc.gbs": 32, "tensix_noc.core_gbs": 32}  # flits take whole cycles
    machine = load_machine("tensix_tiny", {"flow_control": "credit", **fields, **rates})
    program = Traffic(machine, parse_flows(flows)).program
    hybrid, flit = (Session(program, mode, count_waits=count_waits) for mode in ("hybrid", "flit"))
    most = 0
    for number, _ in enumerate(iter(hybrid.step, False)):
        assert number % 97 or find_broken(hybrid) is None
        most = max(most, count_hidden_sources(hybrid._memory))
    flit.run()
    assert most == 2
    check_equal(hybrid, flit)


def test_a_transfer_is_resumed_at_a_router_where_another_begins():
    """In the middle of a period, while the same interface sends to its own memory and another core does so, too."""
    rates = {"tensix_noc.gbs": 32, "tensix_noc.core_gbs": 32}
    fields = {"tensix_port.virtual_channels": 5, "tensix_memory_port.virtual_channels": 4}
    machine = load_machine("tensix_tiny", {"flow_control": "credit", **fields, **rates})
    places, program = machine.places, Program(machine)
    own, near, far = (0, 0), (0, 1), (1, 1)
    moves = [(own, 0, far, 0, MIB), (own, 0, own, 0, 2 * MIB), (near, 1, own, 0, MIB)]
    moves += [(near, 0, far, at, 2000) for at in (5001, 9003, 14010, 20007)]
    for number, (core, network, memory, at, size) in enumerate(moves):
        thread, source = program.thread(f"{number}"), places.interface(core, network)
        thread.delay(program.duration(("ns", float(at))))
        thread.move(machine.routing.route(source, places.l1(memory), Intent.ALL, RouteKind.WRITE), size)
    program.flush()
    hybrid, flit = (Session(program, mode) for mode in ("hybrid", "flit"))
    for session in (hybrid, flit):
        session.run()
    assert hybrid.speculation.resumed == 4
    check_equal(hybrid, flit)


def count_hidden_sources(memory: Memory) -> int:
    """At how many links of routers suspended transfers begin."""
    credit = memory.credit
    assert credit is not None
    links = memory.rows(credit["links"], r.LINK, credit["link_n"])
    routers = memory.rows(credit["routers"], r.ROUTER, credit["router_n"])
    begins = (links["source"] < credit["router_n"]) & (links["first"] != NONE)
    known = routers["sources"][links["source"][begins]] >> links["port"][begins] & 1
    return int((known == 0).sum())


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seeds"), [("credit_lone", 24), ("credit_sip_lone", 8), ("credit_tensix_lone", 8)])
def test_random_programs_suspend_and_leave_the_same_state(kind, seeds):
    total: Counter[str] = Counter()
    for seed in range(seeds):
        program = draw_program(kind, seed)
        program.flush()
        hybrid, flit = (Session(program, mode, count_waits=seed % 2 == 0) for mode in ("hybrid", "flit"))
        for number, _ in enumerate(iter(hybrid.step, False)):
            assert number % LOOK or find_broken(hybrid) is None, f"program {kind} {seed}"
        flit.run()
        check_equal(hybrid, flit)
        if hybrid.network_waits is not None and flit.network_waits is not None:
            for cause, waited in hybrid.network_waits.fs.items():
                assert np.array_equal(waited, flit.network_waits.fs[cause]), f"program {kind} {seed}: {cause}"
        total.update(hybrid.speculation._asdict())
    assert min(total["suspended"], total["skipped"]) > 0
    assert total["resumed"] > 0 or kind != "credit_lone"


@pytest.mark.parametrize("name", COMPARED)
def test_a_state_covers_each_field(name):
    covers = [of.get(name, "").split() for of in (COMPARED, COUNTED, SET_BY_OTHERS, FIXED)]
    named = [field for fields in covers for field in fields]
    assert sorted(named) == sorted(getattr(r, name).names)
