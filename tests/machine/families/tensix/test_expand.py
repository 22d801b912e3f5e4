"""The family `tensix`: places, the map of coordinates, routes, mistakes."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from kernbench.errors import InputError, UnreachableError
from kernbench.machine import load_machine
from kernbench.machine.families.tensix.places import TensixPlaces
from kernbench.machine.intents import Intent, RouteKind
from kernbench.machine.network.channel_dependencies import find_cycle
from kernbench.machine.views import find_view
from kernbench.tanto.timing.lowering import Lowering
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.run import run_flows


def places(topology: str = "wormhole_n150", **overrides: Any) -> TensixPlaces:
    found = load_machine(topology, overrides).places
    assert isinstance(found, TensixPlaces)
    return found


def test_logical_cores_are_at_physical_places() -> None:
    chip = places()
    assert (chip.w, chip.h) == (8, 8)
    assert [chip.physical(core) for core in ((0, 0), (4, 0), (7, 5), (7, 7))] == [(1, 1), (6, 1), (9, 7), (9, 9)]
    assert all(chip.logical(chip.physical((x, y))) == (x, y) for x in range(8) for y in range(8))
    assert chip.logical((5, 1)) is None
    assert chip.inside((4, 5), (6, 7)) == [(3, 4), (4, 4), (3, 5), (4, 5)]
    with pytest.raises(InputError, match="the chip has no core 8,0; it has cores 0,0 to 7,7"):
        chip.physical((8, 0))


def test_harvested_rows_are_no_cores() -> None:
    chip = places(harvested_rows=[1, 2])
    assert chip.physical((0, 0)) == (1, 3)
    assert places("blackhole_p150").w == 13


def test_pages_take_the_banks_in_turn() -> None:
    machine = load_machine("wormhole_n150")
    lowering = Lowering(machine)
    names = [machine.node_name[lowering.bank_of(page)] for page in range(14)]
    assert names == [f"dram{bank}" for bank in (*range(12), 0, 1)]


def test_hops_follow_the_direction_of_the_network() -> None:
    chip = places()
    assert [chip.hops(network, (0, 0), (1, 1)) for network in (0, 1)] == [2, 20]
    assert [chip.hops(network, (1, 1), (0, 0)) for network in (0, 1)] == [20, 2]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"worker_rows": [12]}, "place (1, 12) is outside of a grid of 10 x 12"),
        ({"ethernet": [[1, 1]]}, "place (1, 1) is a worker's and a DRAM's or Ethernet's"),
        ({"harvested_columns": [1, 2, 3, 4, 6, 7, 8, 9]}, "all columns or all rows of workers are harvested"),
        ({"bank_ports": [0]}, "bank_ports has 1 entries, expected one for each of 2 banks"),
        ({"bank_ports": [0, 3]}, "bank_ports names a port that a controller does not have"),
    ],
)
def test_mistakes(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        load_machine("wormhole_n150", overrides)
    assert message in str(raised.value)


def test_the_chip_as_a_picture() -> None:
    view = find_view(load_machine("tensix_tiny"), "system")
    assert [box.label for box in view.boxes] == [
        "dram",
        "eth",
        "eth",
        "",
        "dram",
        "0,0",
        "1,0",
        "",
        "dram",
        "0,1",
        "1,1",
        "",
    ]


# Finite buffers

CREDIT = {"flow_control": "credit"}


@pytest.mark.parametrize(
    ("network", "ends", "halves"),
    [
        (0, ((0, 0), (4, 1)), [1, 1, 1, 1, 1, 1]),  # east, then south
        (0, ((4, 1), (0, 0)), [1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2]),  # each ring has a dateline of its own
        (1, ((0, 0), (0, 1)), [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]),  # north
    ],
)
def test_a_way_is_after_the_dateline_of_a_ring_from_the_link_that_closes_it(network, ends, halves) -> None:
    machine = load_machine("wormhole_n150", CREDIT)
    chip = machine.places
    nodes = machine.routing.path(chip.interface(ends[0], network), chip.l1(ends[1]), Intent.ALL)
    assert chip.halves(nodes, "cross") == [0, *halves, 0, 0]


def test_requests_and_replies_have_channels_on_both_sides_of_a_dateline() -> None:
    control = load_machine("wormhole_n150", CREDIT).flow_control
    assert control is not None
    kinds = [control.kind(side, is_reply) for is_reply in (0, 1) for side in range(3)]
    found = [control.channels_of(kind, 16) for kind in kinds]
    assert found == [range(8), range(4), range(4, 8), range(8, 16), range(8, 12), range(12, 16)]


@pytest.mark.parametrize(
    ("topology", "clock_ghz", "buffer_bytes"), [("wormhole_n150", 1, 2048), ("blackhole_p150", 1.35, 4096)]
)
def test_routers_have_the_clock_of_the_chip_and_stages_of_one_cycle(
    topology: str, clock_ghz: float, buffer_bytes: int
) -> None:
    """A cycle was half of one, and crossbars slow, where flits had two words and the link to L1 the rate of both networks."""
    machine = load_machine(topology, CREDIT)
    assert machine.cycle_fs == round(10**6 / clock_ghz)
    control = machine.flow_control
    assert control is not None
    for port in control.ports:
        assert (
            max(port.routing_fs, port.vc_allocation_fs, port.switch_allocation_fs, port.traversal_fs)
            <= machine.cycle_fs
        )
        assert port.buffer_flits * machine.flit_bytes == control.packet_flits * machine.flit_bytes == buffer_bytes


@pytest.mark.parametrize(("fields", "ns"), [({}, 9.056106), (CREDIT, 10)])
def test_a_flit_takes_a_hop_in_the_cycles_of_the_chip(fields, ns) -> None:
    """Eight of wires and routers, and one on the link; with credits up to a whole cycle."""
    machine = load_machine("wormhole_n150", fields)
    ends = [machine.node_name[machine.places.interface((x, 0), 0)] for x in (0, 1, 2)]
    near, far = run_flows(
        machine, parse_flows([f"{ends[0]}:{ends[1]}:32", f"{ends[0]}:{ends[2]}:32@1000"])
    ).end_fs.tolist()
    assert far - near - 10**9 == round(ns * 10**6)


def bytes_a_cycle(flows: list[str], kib: int = 64) -> float:
    """The rate of flows of twice as many bytes after each other, at 1 GHz."""
    machine = load_machine("wormhole_n150")
    once, twice = (
        run_flows(machine, parse_flows([flow.format(f"{size}KiB") for flow in flows])).makespan_ns
        for size in (kib, 2 * kib)
    )
    return len(flows) * kib * 1024 / (twice - once)


CORE, OTHER = "worker[1][1]", "worker[3][4]"


PAGE = Path(__file__).parents[4] / "docs" / "tanto.md"


@pytest.mark.parametrize(
    ("says", "flows", "rate"),
    [
        ("a core reads from another", [f"{CORE}.niu1:{OTHER}.l1:{{}}:read"], 28.1),
        ("", [f"{CORE}.niu1:{CORE}.l1:{{}}:read"], 28.1),
        ("a core writes to another", [f"{CORE}.niu0:{OTHER}.l1:{{}}:write"], 30.3),
        (
            "a core reads from three others at once",
            [f"{CORE}.niu1:worker[{y}][2].l1:{{}}:read" for y in (1, 2, 3)],
            30.3,
        ),
        ("a core reads from one bank", [f"{CORE}.niu1.dram:dram4:{{}}:read"], 22.1),
        ("", [f"{CORE}.niu1.dram:dram{bank}:{{}}:read" for bank in range(12)], 22.1),
        ("", [f"worker[{y}][{x}].niu1.dram:dram4:{{}}:read" for x in (1, 2) for y in (1, 2)], 22.1),
    ],
)
def test_reads_writes_and_dram_have_rates_of_their_own(says: str, flows: list[str], rate: float) -> None:
    assert bytes_a_cycle(flows) == pytest.approx(rate, rel=0.002)
    assert not says or f"| {says} | {rate} B/ns |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("topology", ["tensix_tiny", "wormhole_n150"])
def test_no_cycle_of_channels_is_on_the_ways_of_a_chip(topology: str) -> None:
    """All ways between interfaces and memories, as they are, not only the rings that are checked."""
    machine = load_machine(topology, CREDIT)
    control, chip, routing = machine.flow_control, machine.places, machine.routing
    assert control is not None
    cores = [(x, y) for x in range(0, chip.w, 3) for y in range(0, chip.h, 2)]
    memories = [*map(chip.l1, cores), *map(chip.bank, range(chip.grid.banks))]
    kinds = (RouteKind.READ, RouteKind.WRITE)
    for core, network, memory, kind in product(cores, (0, 1), memories, kinds):
        routing.route(chip.interface(core, network), memory, Intent.ALL, kind)
        routing.route(chip.dram_side(core, network), memory, Intent.ALL, kind)
    tables, ways = routing.tables(), []
    for start, end in pairwise(tables.start.tolist()):
        steps = [step for step in range(start, end) if tables.station[step] < machine.edge_count]
        ways.append([(str(tables.station[s]), control.channels_of(int(tables.channels[s]), 16)) for s in steps])
    assert find_cycle(ways) is None


@pytest.mark.parametrize("flow_control", ["unbounded", "credit"])
def test_nothing_changes_its_network_in_a_memory(flow_control: str) -> None:
    """A multicast whose branches began behind one had no end where links have credits, and a message ended in the memory."""
    machine = load_machine("tensix_tiny", {"flow_control": flow_control})
    source, *others = (machine.node_id[name] for name in ("noc1[2][0]", "noc0[0][0]", "noc0[1][2]"))
    says = (
        r"^no route leads from noc1\[2\]\[0\] to noc0\[0\]\[0\] but through dram0, which passes nothing on; name two parts of "
        "one network$"
    )
    with pytest.raises(UnreachableError, match=says):
        machine.routing.route(source, others[0], Intent.ALL, RouteKind.MESSAGE)
    with pytest.raises(UnreachableError, match=says):
        machine.routing.multicast(source, others, Intent.ALL, RouteKind.MESSAGE)


def test_too_few_channels_are_refused() -> None:
    with pytest.raises(InputError) as raised:
        load_machine("tensix_tiny", {**CREDIT, "tensix_port.virtual_channels": 2})
    assert str(raised.value) == (
        "packets can wait for each other for ever, since each of these channels waits for the next and the last for the "
        "first: noc0[0][0] -> noc0[0][1] on channel 0, noc0[0][1] -> noc0[0][2] on channel 0, noc0[0][2] -> noc0[0][3] on "
        "channel 0, noc0[0][3] -> noc0[0][0] on channel 0; set tensix_port.virtual_channels to 4 or more: requests and "
        "replies, before and after the dateline"
    )
    with pytest.raises(InputError, match="but a class of ports has 1; give each class 2 or more"):
        load_machine("tensix_tiny", {**CREDIT, "tensix_memory_port.virtual_channels": 1})
