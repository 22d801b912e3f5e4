"""One queue: its slots, its order, its ends."""

from copy import copy

import pytest

from kernbench.machine import load_machine
from kernbench.tl.lowering.queue import credit_terms
from tests.tl.mesh import A, B, Mesh, line


def ends(machine, source, target):
    return machine.places.pe(*source).dma, machine.places.pe(*target).dma


def test_within_a_cube_it_passes_links_and_routers():
    machine = load_machine("tiny")
    assert dict(credit_terms(machine, *ends(machine, (0, 0, 1), (0, 0, 0)), 16)) == {
        "noc.byte": 3 * 16,
        "noc.overhead": 4,
        "pe_dma.byte": 2 * 16,
    }


def test_between_cubes_it_pays_two_ports():
    machine = load_machine("sip_2x4x4")
    terms = dict(credit_terms(machine, *ends(machine, (0, 1, 0), (0, 0, 0)), 16))
    assert terms["ucie.overhead"] == 2
    assert terms["ucie.byte"] == 16 * (4 + 1 / 4)  # two connections and their ports; four connections between the ports


def test_between_sips_it_passes_pcie_and_the_switch():
    machine = load_machine("sip_2x4x4")
    terms = dict(credit_terms(machine, *ends(machine, (1, 0, 0), (0, 0, 0)), 16))
    assert terms["pcie_ep.overhead"] == 2
    assert terms["switch.overhead"] == 1


def test_of_no_bytes_it_is_overheads_alone():
    machine = load_machine("sip_2x4x4")
    terms = dict(credit_terms(machine, *ends(machine, (0, 1, 0), (0, 0, 0)), 0))
    assert not [figure for figure in terms if figure.endswith(".byte")]


def test_what_no_figure_gives_is_a_time():
    machine = load_machine("sip_2x4x4")
    other = copy(machine)
    other.figures = {name: value for name, value in machine.figures.items() if not name.startswith("ucie.")}
    here = ends(machine, (0, 1, 0), (0, 0, 0))

    def whole(m):
        return sum(machine.figures[figure] * amount for figure, amount in credit_terms(m, *here, 16))

    assert dict(credit_terms(other, *here, 16))["ns"] > 0
    assert abs(whole(other) - whole(machine)) < 1  # fs


def test_slots_are_given_back_in_order():
    queue = Mesh(line(A, B)).ipcq.queue(A, "E")
    assert [queue.give_back(index) for index in (1, 2, 0, 4, 3, 5)] == [0, 0, 3, 0, 2, 1]


def test_ends_that_disagree_are_found_by_the_second():
    queue = Mesh(line(A, B)).ipcq.queue(A, "E")
    assert (queue.agree(0, 16), queue.agree(0, 16)) == (None, None)
    assert (queue.agree(1, 16), queue.agree(1, 32)) == (None, 16)


def test_slots_go_round():
    queue = Mesh(line(A, B, n_slots=3, slot_bytes=64)).ipcq.queue(A, "E")
    first = queue.address(0)
    assert [queue.address(index) - first for index in range(5)] == [0, 64, 128, 0, 64]


@pytest.mark.parametrize(
    ("tier", "figures"),
    [
        ("tcm", {"pe_tcm.write_byte": 100}),
        ("sram", {"pe_ipcq.sram_byte": 100, "pe_ipcq.sram_hop_byte": 100, "pe_ipcq.sram_access": 1}),
        ("hbm", {"pe_ipcq.hbm_byte": 100, "pe_ipcq.hbm_hop_byte": 100, "pe_ipcq.hbm_access": 1}),
    ],
)
def test_writing_a_slot_is_amounts_of_figures(tier, figures):
    mesh = Mesh(line(A, B, tier=tier))
    queue = mesh.ipcq.queue(A, "E")
    assert dict(mesh.program.durations[queue.write_duration(100)]) == figures
    assert queue.write_duration(100) == queue.write_duration(100) != queue.write_duration(101)


def test_slots_are_written_and_read_at_the_receiver():
    for tier, servers in (("tcm", ("pe_tcm.write", "pe_tcm.read")), ("hbm", ("pe_ipcq.write", "pe_ipcq.read"))):
        mesh = Mesh(line(A, B, tier=tier))
        queue = mesh.ipcq.queue(A, "E")
        names = [mesh.machine.server_name[server] for server in (queue.write, queue.read)]
        assert names == [f"sip0.cube0.pe1.{server}" for server in servers]
