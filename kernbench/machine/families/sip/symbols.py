"""The symbols of the parts of a `sip` machine."""

from __future__ import annotations

from kernbench.machine.symbols import ROUTER, Caption, Role, Symbol, overhead


def _part(title: str, role: Role, *captions: Caption, bytes: str = "") -> Symbol:
    """A part of a PE."""
    return Symbol(title, role, 138, 76, captions, bytes, size=12)


_COMMAND = "{:g} ns a command"
_HBM = Symbol("HBM controller of a PE", Role.MEMORY, 42, 16, bytes="hbm.slice_bytes", size=10)
_PCIE_EP = Symbol("PCIe endpoint", Role.HOST, 58, 20, overhead("pcie_ep"))
_ROUTER = ROUTER._replace(captions=overhead("noc"))
_UCIE = Symbol("UCIe port of a die", Role.PORT, 44, 30, overhead("ucie"))

SYMBOLS: dict[str | tuple[str, str], Symbol] = {
    "switch": Symbol("fabric switch", Role.HOST, 84, 28, overhead("switch")),
    "pcie_ep": _PCIE_EP,
    ("system", "pcie_ep"): _PCIE_EP._replace(width=70, height=22),
    "sip_link": Symbol("port of a link between SIPs", Role.LINK, 22, 18, overhead("sip_link"), size=10),
    "io_cpu": Symbol("IO_CPU", Role.CONTROL, 44, 20, overhead("io_cpu")),
    "io_noc": Symbol("network of the IO chiplet", Role.NETWORK, 44, 20, overhead("io_noc")),
    "io_ucie": Symbol("UCIe port of a die", Role.PORT, 12, 12, overhead("ucie")),
    "conn": Symbol("UCIe connection", Role.CONNECTION, 9, 9),
    "ucie": _UCIE,
    ("sip", "ucie"): _UCIE._replace(width=12, height=12, size=9),
    "router": _ROUTER,
    ("pe", "router"): _ROUTER._replace(width=76, height=76, size=12),
    "m_cpu": Symbol("M_CPU", Role.CONTROL, 48, 18, overhead("m_cpu")),
    "sram": Symbol("SRAM", Role.MEMORY, 40, 14, bytes="sram.bytes", size=10),
    "hbm_ctrl": _HBM,
    ("pe", "hbm_ctrl"): _HBM._replace(title="memory", width=190, height=66, size=12),
    "pe": Symbol("PE", Role.COMPUTE, 42, 42),
    "pe_cpu": _part("control", Role.CONTROL, Caption(_COMMAND, ("pe_cpu.overhead_ns",))),
    "pe_scheduler": _part("control", Role.CONTROL, Caption(_COMMAND, ("pe_scheduler.overhead_ns",))),
    "pe_dma": _part(
        "movement",
        Role.MOVEMENT,
        Caption("{:g} read, {:g} write", ("pe_dma.read_channels", "pe_dma.write_channels")),
        Caption("in flight"),
    ),
    "pe_fetch_store": _part("movement", Role.MOVEMENT),
    "pe_ipcq": _part("movement", Role.MOVEMENT),
    "pe_mmu": _part("movement", Role.MOVEMENT, Caption("{:g} ns a translation", ("pe_mmu.tlb_ns",))),
    "pe_gemm": _part("compute", Role.COMPUTE, Caption("{:g} TFLOPS f16", ("pe_gemm.tflops_f16",))),
    "pe_math": _part("compute", Role.COMPUTE, Caption("{:g} f16 elements/ns", ("pe_math.elements_f16",))),
    "pe_tcm": _part(
        "memory",
        Role.MEMORY,
        Caption("read {:g} GB/s", ("pe_tcm.read_gbs",)),
        Caption("write {:g} GB/s", ("pe_tcm.write_gbs",)),
        bytes="pe_tcm.bytes",
    ),
}
