"""Energies against cases that are computed by hand, to the attojoule."""

from __future__ import annotations

import pytest

from kernbench.energy.run_energy import RunEnergy
from kernbench.energy.static import Instances, energy_aj
from kernbench.program.program import Program
from tests.energy.round_sheet import PJ, read_slices, round_machine

KIB16 = 16384
OWN = KIB16 * 35_600_000  # HBM 32, a router 1, wire 0.6, TCM 2 pJ a byte


def test_a_tile() -> None:
    """32 x 64 x 32 of f16: 131,072 flop of 0.5 pJ; 8,192 B read from TCM and 2,048 B written at 2 pJ."""
    machine = round_machine(pe_fetch_store__energy__job_pj="0 pJ")
    program, pe = Program(machine), machine.places.pe(0, 0, 0)
    thread = program.thread("sip0.cube0.pe0.pe_scheduler")
    for server, terms in (
        (pe.tcm_read, machine.costs.fetch(4096)),
        (pe.tcm_read, machine.costs.fetch(4096)),
        (pe.gemm_server, machine.costs.product(32, 64, 32, 16)),
        (pe.tcm_write, machine.costs.store(2048)),
    ):
        thread.exec(server, program.duration(*terms))
    program.flush()
    energy = RunEnergy(program, 0)
    assert energy.total_aj == 86_016 * PJ
    assert {(one.part, one.action): one.energy_aj for one in energy.by_action()} == {
        ("pe_gemm", "flop_16"): 65_536 * PJ,
        ("pe_tcm", "read_byte"): 16_384 * PJ,
        ("pe_tcm", "write_byte"): 4_096 * PJ,
        ("pe_fetch_store", "job"): 0,
    }


@pytest.mark.parametrize(
    ("place", "energy"),
    [
        pytest.param((0, 0, 0), OWN, id="own slice: a router, 1 mm"),
        pytest.param((0, 0, 1), 629_145_600_000, id="of pe1: 2 routers, 4 mm"),
        pytest.param((0, 0, 7), 1_017_446_400_000, id="of pe7: 11 routers, 28.5 mm"),
        pytest.param((0, 1, 0), 1_079_705_600_000, id="of the next cube: 9 routers, 31.5 mm, a crossing"),
        pytest.param((1, 0, 0), 3_088_384_000_000, id="of the other SIP: 87.5 mm, 2 UCIe, 2 PCIe, a switch"),
    ],
)
def test_a_read_of_16_kib(place: tuple[int, int, int], energy: int) -> None:
    assert read_slices(round_machine(), place).dynamic_aj == energy


def test_what_waits_takes_no_more() -> None:
    """Two reads of one slice, at once and in turn; and with a network of half the bandwidth."""
    twice = ((0, 0, 0), (0, 0, 0))
    at_once, in_turn = (read_slices(round_machine(), *twice, in_turn=in_turn) for in_turn in (False, True))
    assert at_once.dynamic_aj == in_turn.dynamic_aj == 2 * OWN
    slower = read_slices(round_machine(noc__gbs="64 GB/s"), *twice)
    assert slower.makespan_fs > at_once.makespan_fs
    assert slower.dynamic_aj == at_once.dynamic_aj
    assert slower.static_aj > at_once.static_aj


def test_static_energy_of_cubes() -> None:
    """270 mm² of 0.1 W draw 27 W, whatever stands on them: 27 µJ in 1 µs, and 864 µJ on 32 cubes."""
    machine = round_machine(hbm__silicon__static_mw="0 mW")
    cubes: dict[str, int] = {}
    for draw in Instances.of(machine).draws(machine.prices):
        if draw.die is not None and draw.die.kind == "cube":
            cubes[draw.die.name] = cubes.get(draw.die.name, 0) + draw.count * energy_aj(draw.nw, 10**9)
    assert len(cubes) == 32
    assert all(abs(energy - 27 * 10**12) <= 100 for energy in cubes.values())
    assert abs(sum(cubes.values()) - 864 * 10**12) <= 3200


def test_a_token_of_llama_3_1_8b_on_a_tray() -> None:
    """15.144 GB at 35.6 pJ, 15.547 Gflop at 0.5 pJ, and 864 W for 231.080 µs: 0.74656 J, 3,230.7 W on average.

    The bytes are those of all PEs from their own slices, so the cost of one of them is that of any.
    """
    byte_aj = read_slices(round_machine(), (0, 0, 0)).dynamic_aj // KIB16
    dynamic = 15_144_067_072 * byte_aj + 15_546_720_256 * 500_000
    static = energy_aj(864 * 10**9, 231_080_000_000)
    assert dynamic / 1e18 == pytest.approx(0.53913 + 0.00777, abs=1e-5)
    assert static / 1e18 == pytest.approx(0.19965, abs=1e-5)
    assert (dynamic + static) / 1e18 == pytest.approx(0.74656, abs=1e-5)
    assert (dynamic + static) / 231_080_000_000 / 1000 == pytest.approx(3230.7, abs=0.1)


def test_a_message_of_no_bytes_costs_its_control_alone() -> None:
    assert read_slices(round_machine(), (1, 0, 0), nbytes=0).dynamic_aj == 0
    priced = round_machine(pe_dma__energy__transfer_pj="3 pJ")
    assert read_slices(priced, (1, 0, 0), nbytes=0).dynamic_aj == 3 * PJ


def test_a_partial_flit_costs_its_bytes() -> None:
    assert read_slices(round_machine(), (0, 0, 0), nbytes=256 + 1).dynamic_aj == 257 * 35_600_000
