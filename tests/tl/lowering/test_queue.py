"""One queue: its slots, its order, its ends."""

import pytest

from tests.tl.mesh import A, B, Mesh, line


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
