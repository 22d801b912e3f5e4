"""The cost of a credit: overheads and bytes of every part of its route, as terms."""

from copy import copy

from kernbench.machine import load_machine
from kernbench.tl.lowering.credit import credit_terms


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
