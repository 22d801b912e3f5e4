"""Neighbour tables: their checks, and the addresses of slots."""

import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.tl.lowering.ipcq import Ring, check_tables
from tests.tl.mesh import A, B, C, line


def refused(tables, topology="tiny"):
    with pytest.raises(InputError) as caught:
        check_tables(load_machine(topology), tables)
    return str(caught.value)


def test_a_line_is_right():
    check_tables(load_machine("tiny"), line(A, B, C))


def test_a_direction_has_a_known_name():
    assert refused({A: {"east": Ring(*B, "W")}}).startswith(
        "the neighbour table of sip0.cube0.pe0 has 'east', which is no direction"
    )


def test_a_neighbour_is_a_pe_of_the_machine():
    assert refused({A: {"E": Ring(0, 7, 0, "W")}}) == (
        "the machine has no sip0.cube7.pe0; it has sip0 to sip0, each with cube0 to cube1, each with pe0 to pe1"
    )


def test_a_direction_leads_back():
    sentence = (
        "the neighbour table of sip0.cube0.pe0 has 'E' leading to sip0.cube0.pe1, whose 'W' does not lead back; "
        "give both ends an entry for each other"
    )
    assert refused({A: {"E": Ring(*B, "W")}}) == sentence
    assert refused({A: {"E": Ring(*B, "W")}, B: {"W": Ring(*A, "S")}}) == sentence
    assert refused({A: {"E": Ring(*B, "W")}, B: {"W": Ring(*C, "E")}}) == sentence


def test_both_ends_have_the_same_slots():
    assert refused({A: {"E": Ring(*B, "W", 4, 256)}, B: {"W": Ring(*A, "E", 4, 512)}}) == (
        "the neighbour table of sip0.cube0.pe0 has 'E' with 4 slots of 256 bytes in tcm, but sip0.cube0.pe1 has "
        "4 of 512 in tcm for it; give both ends the same"
    )


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"tier": "dram"}, "slots cannot lie in 'dram'; did you mean 'sram'? Known: hbm, sram, tcm"),
        ({"n_slots": 0}, "a ring of slots has n_slots=0; give 1 or more"),
        ({"slot_bytes": 0}, "a ring of slots has slot_bytes=0; give 1 or more"),
        ({"credit_bytes": -1}, "a ring of slots has credit_bytes=-1; give 0 or more"),
    ],
)
def test_a_ring_has_slots(changed, sentence):
    with pytest.raises(InputError) as caught:
        Ring(*B, "W", **changed)
    assert str(caught.value) == sentence
