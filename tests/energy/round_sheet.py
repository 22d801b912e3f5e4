"""A sheet of round prices, for cases that are computed by hand: 1 pJ is 1,000,000 aJ."""

from __future__ import annotations

from kernbench.energy.run_energy import RunEnergy
from kernbench.engine import Session
from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from kernbench.machine.machine import Machine
from kernbench.program.program import Program

PJ = 10**6  # aJ
ROUND = {
    "technology.node_nm": "7 nm",
    "technology.wire_pj_mm": "0.6 pJ/B/mm",
    "technology.static_w_mm2": "0.1 W/mm2",
    "pe_gemm.energy.flop_8_pj": "0.25 pJ",
    "pe_gemm.energy.flop_16_pj": "0.5 pJ",
    "pe_math.energy.element_16_pj": "1 pJ",
    "pe_tcm.energy.read_byte_pj": "2 pJ/B",
    "pe_tcm.energy.write_byte_pj": "2 pJ/B",
    "pe_tcm.silicon.size_mib": "16 MiB",
    "noc.energy.byte_pj": "1 pJ/B",
    "io_noc.energy.byte_pj": "1 pJ/B",
    "ucie.energy.crossing_byte_pj": "0.5 pJ/bit",
    "pcie_ep.energy.crossing_byte_pj": "40 pJ/B",
    "switch.energy.byte_pj": "8 pJ/B",
    "hbm.energy.read_byte_pj": "32 pJ/B",
    "hbm.energy.write_byte_pj": "32 pJ/B",
    "pe_dma.energy.transfer_pj": "0 pJ",
}


def round_machine(topology: str = "sip_2x4x4", **more: object) -> Machine:
    """A machine with round prices, and with other values of fields by path, `__` for a dot."""
    return load_machine(topology, {**ROUND, **{name.replace("__", "."): value for name, value in more.items()}})


def read_slices(
    machine: Machine, *slices: tuple[int, int, int], nbytes: int = 16384, in_turn: bool = False
) -> RunEnergy:
    """The energy of pe0 of cube 0 reading slices of HBM, by (SIP, cube, PE), at once or in turn."""
    program = Program(machine)
    pe = machine.places.pe(0, 0, 0)
    thread = program.thread(machine.node_name[pe.dma])
    for count, place in enumerate(slices, 1):
        route = machine.routing.route(pe.dma, machine.places.hbm(*place), Intent.PE_DMA, RouteKind.READ)
        done = program.counter("read")
        thread.move(route, nbytes, done=done, hold=pe.dma_read)
        if in_turn or count == len(slices):
            thread.wait(done, 1)
    session = Session(program)
    session.run()
    return RunEnergy(program, session.now_fs)
