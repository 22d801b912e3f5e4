"""Captions of parts in a diagram: their main figures in a line or two.

A caption is made of the machine's figures, so it shows values that a topology or an override sets. A part without these
figures (a drop-in of another kind) has no caption.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.units import FS_PER_NS, format_bytes

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

# Lines by kind of node: a text and the figures it takes.
_LINES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "switch": (("{:g} ns", ("switch.overhead_ns",)),),
    "pcie_ep": (("{:g} ns", ("pcie_ep.overhead_ns",)),),
    "sip_link": (("{:g} ns", ("sip_link.overhead_ns",)),),
    "io_cpu": (("{:g} ns", ("io_cpu.overhead_ns",)),),
    "io_noc": (("{:g} ns", ("io_noc.overhead_ns",)),),
    "io_ucie": (("{:g} ns", ("ucie.overhead_ns",)),),
    "ucie": (("{:g} ns", ("ucie.overhead_ns",)),),
    "router": (("{:g} ns", ("noc.overhead_ns",)),),
    "m_cpu": (("{:g} ns", ("m_cpu.overhead_ns",)),),
    "pe_cpu": (("{:g} ns a command", ("pe_cpu.overhead_ns",)),),
    "pe_scheduler": (("{:g} ns a command", ("pe_scheduler.overhead_ns",)),),
    "pe_dma": (("{:g} read, {:g} write", ("pe_dma.read_channels", "pe_dma.write_channels")), ("in flight", ())),
    "pe_gemm": (("{:g} TFLOPS f16", ("pe_gemm.tflops_f16",)),),
    "pe_math": (("{:g} f16 elements/ns", ("pe_math.elements_f16",)),),
    "aic": (("{:g} GHz", ("aic.clock_ghz",)),),
    "aiv": (("{:g} GHz", ("aiv.clock_ghz",)),),
    "worker": (("{:g} GHz", ("tensix_core.clock_ghz",)),),
    "pe_mmu": (("{:g} ns a translation", ("pe_mmu.tlb_ns",)),),
    "pe_tcm": (("read {:g} GB/s", ("pe_tcm.read_gbs",)), ("write {:g} GB/s", ("pe_tcm.write_gbs",))),
}
_BYTES = {
    "pe_tcm": "pe_tcm.bytes",
    "sram": "sram.bytes",
    "hbm_ctrl": "hbm.slice_bytes",
    "l2": "l2.bytes",
    "gm_hbm": "gm_hbm.bytes",
}


def find_caption(machine: Machine, kind: str) -> tuple[str, ...]:
    """The lines for a kind of node."""
    figures, lines = machine.figures, []
    if _BYTES.get(kind) in figures:
        lines.append(format_bytes(figures[_BYTES[kind]]))
    for text, names in _LINES.get(kind, ()):
        if all(name in figures for name in names):
            lines.append(text.format(*(figures[name] for name in names)))
    return (*lines, *_channels(machine, kind))


def _channels(machine: Machine, kind: str) -> tuple[str, ...]:
    """The bandwidth of a memory."""
    node = next((node for node in machine.terminals if machine.node_kind[node] == kind), None)
    if node is None:
        return ()
    memory = machine.terminals[node]
    gbs = machine.flit_bytes * FS_PER_NS / int(machine.stations.fs_per_flit[memory.first_station])
    return (f"{memory.stripes} × {gbs:,.6g} GB/s",) if memory.stripes > 1 else (f"{gbs:,.6g} GB/s",)
