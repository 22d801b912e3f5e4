"""Energies and areas beside published ones.

The breakdowns are those of AccelForge, `tests/regression_reference.json`: two chained products of 64 x 64 matrices of 8 bits on
`tpu_v4i.yaml`. Its counts are bits and its energies nJ; prices come from the same file, a bit each, a multiply-add 0.084 pJ.
"""

from __future__ import annotations

import pytest

from kernbench.energy.bill import find_bill
from kernbench.energy.run_energy import RunEnergy
from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from kernbench.machine.machine import Machine
from kernbench.program.program import Program

PUBLISHED = {
    "technology.node_nm": 7,
    "hbm.energy.read_byte_pj": "7.03 pJ/bit",
    "hbm.energy.write_byte_pj": "7.03 pJ/bit",
    "sram.silicon.size_mib": "32 MiB",
    "sram.energy.read_byte_pj": "1.88 pJ/bit",
    "sram.energy.write_byte_pj": "2.36 pJ/bit",
    "pe_tcm.silicon.size_mib": "16 MiB",
    "pe_tcm.energy.read_byte_pj": "0.249 pJ/bit",
    "pe_tcm.energy.write_byte_pj": "0.293 pJ/bit",
    "pe_gemm.energy.flop_8_pj": "42 fJ",
}
FIRST = {
    ("hbm", "read_byte"): (65_536, 460.718),
    ("sram", "read_byte"): (131_072, 246.415),
    ("sram", "write_byte"): (65_536, 154.665),
    ("pe_tcm", "read_byte"): (65_536, 16.318),
    ("pe_tcm", "write_byte"): (65_536, 19.202),
    ("pe_gemm", "flop_8"): (262_144, 22.020),
}
SECOND = {
    ("hbm", "read_byte"): (32_768, 230.359),
    ("hbm", "write_byte"): (32_768, 230.359),
    ("sram", "read_byte"): (163_840, 308.019),
    ("sram", "write_byte"): (32_768, 77.332),
    ("pe_tcm", "read_byte"): (65_536, 16.318),
    ("pe_tcm", "write_byte"): (65_536, 19.202),
    ("pe_gemm", "flop_8"): (262_144, 22.020),
}


def count_actions(machine: Machine, counts: dict[tuple[str, str], tuple[int, float]]) -> RunEnergy:
    """The energy of a program with these counts: bits of memories, multiply-adds of the engine."""
    program, pe = Program(machine), machine.places.pe(0, 0, 0)
    thread = program.thread("sip0.cube0.m_cpu")
    memories = {"hbm": machine.places.hbm(0, 0, 0), "sram": machine.node_id["sip0.cube0.sram"]}
    for (part, action), (count, _) in counts.items():
        if part in memories:
            kind = RouteKind.READ if action == "read_byte" else RouteKind.WRITE
            m_cpu = machine.node_id["sip0.cube0.m_cpu"]
            thread.move(machine.routing.route(m_cpu, memories[part], Intent.M_CPU_DMA, kind), count // 8)
        elif part == "pe_tcm":
            terms = machine.costs.read(count // 8) if action == "read_byte" else machine.costs.write(count // 8)
            thread.exec(pe.tcm_read if action == "read_byte" else pe.tcm_write, program.duration(*terms))
        else:
            thread.exec(pe.gemm_server, program.duration(*machine.costs.product(64, 64, count // 64 // 64, 8)))
    program.flush()
    return RunEnergy(program, 0)


@pytest.mark.parametrize(("counts", "total_nj"), [(FIRST, 919.339), (SECOND, 903.610)])
def test_a_published_breakdown(counts: dict[tuple[str, str], tuple[int, float]], total_nj: float) -> None:
    energy = count_actions(load_machine("tiny", PUBLISHED), counts)
    found = {(one.part, one.action): (one.energy_aj or 0) / 1e9 for one in energy.by_action()}
    for action, (_, nj) in counts.items():
        assert found[action] == pytest.approx(nj, rel=1e-4), action
    assert sum(found[action] for action in counts) == pytest.approx(total_nj, rel=1e-4)


def test_the_area_of_a_published_scratchpad() -> None:
    """The common memory of TPUv4i: 128 MiB in 112 mm² at 7 nm."""
    overrides = {"parts.technology": "technology_7nm", "pe_tcm.bytes": "128 MiB"}
    area = load_machine("tpu_v6e", overrides).prices.parts["pe_tcm"].area_um2
    assert area == 112_000_000


@pytest.mark.parametrize(
    ("interfaces", "published_mm2", "error"), [(6, 58.00 + 31.77, 0.085), (8, 83.26 + 40.83, 0.044)]
)
def test_the_area_of_memory_interfaces_of_published_dies(interfaces: int, published_mm2: float, error: float) -> None:
    """PHY and control of A100 and MI210 (LLMCompass, `die_area.csv`), with as many interfaces as its model has for each.

    The figure of the sheet for an interface of 460 GB/s is its upper end.
    """
    found = interfaces * 460 * 0.0352
    assert found / published_mm2 - 1 == pytest.approx(error, abs=0.01)


@pytest.mark.parametrize(
    ("machine", "share"), [("ascend_910b2", 0.79), ("wormhole_n150", 0.35), ("tpu_v6e", 0.35), ("sip_2x4x4", 0.64)]
)
def test_parts_take_less_than_their_dies(machine: str, share: float) -> None:
    """What has no part here (controllers of hosts, Ethernet, power, test) is the rest of a die, and is bought with it."""
    die = find_bill(load_machine(machine)).dies[0]
    assert die.mm2 is not None
    assert die.parts_mm2 / die.mm2 == pytest.approx(share, abs=0.05)
