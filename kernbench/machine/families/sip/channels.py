"""Flow control with credits in family `sip`: the classes of ports, and the layers of virtual channels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kernbench.machine.intents import Intent
from kernbench.machine.network.channel_layers import Origins, check_layers, order_channels
from kernbench.machine.network.flow_control import FlowControl, PortControl
from kernbench.machine.network.flow_control_spec import build_flow_control

if TYPE_CHECKING:
    from kernbench.machine.families.sip.spec import SipSpec
    from kernbench.machine.machine import Machine

_NOC, _UCIE, _IO, _MEMORY = range(4)
_CLASS = {
    **dict.fromkeys(("ucie", "conn", "io_ucie"), _UCIE),
    **dict.fromkeys(("io_noc", "pcie_ep", "switch", "sip_link"), _IO),
    **dict.fromkeys(("hbm_ctrl", "sram"), _MEMORY),
}
_SIP = re.compile(r"sip\d+\.")

# Which parts begin transfers, by intent, and where these end.
_MEMORIES = ("hbm_ctrl", "sram")
_TRAFFIC = (
    (Intent.PE_DMA, ("pe_dma", "switch"), (*_MEMORIES, "pe_dma")),
    (Intent.CUBE_LOCAL, ("pe_dma",), (*_MEMORIES, "pe_dma")),
    (Intent.M_CPU_DMA, ("pcie_ep", "switch"), _MEMORIES),
    (
        Intent.ALL,
        ("pcie_ep", "io_cpu", "m_cpu", "pe_cpu", "switch"),
        ("m_cpu", "pe_cpu", "pe_mmu", "pe_ipcq", "io_cpu", "pcie_ep"),
    ),
)


def find_flow_control(spec: SipSpec) -> FlowControl | None:
    """The flow control of a checked topology but its layers; None if its queues have no limit."""
    ports = tuple(PortControl.of(port) for port in (spec.noc_port, spec.ucie_port, spec.io_port, spec.memory_port))
    return build_flow_control(
        spec, ports, queue_flits=spec.memory_port.queue_flits, reply_packets=spec.memory_port.reply_packets
    )


def with_layers(machine: Machine) -> Machine:
    """A machine with the classes of its ports, and with layers of virtual channels if it has credits.

    Errors: InputError if ports have too few virtual channels.
    """
    control = machine.flow_control
    if control is None:
        return machine
    order = order_channels(machine, _origins(machine), _like(machine))
    check_layers(machine, control, order)
    return replace(
        machine,
        flow_control=replace(control, layers=order.layers),
        port_class=np.array([_CLASS.get(kind, _NOC) for kind in machine.node_kind], np.uint8),
        channel_order=order.rank,
    )


def _origins(machine: Machine) -> Iterator[Origins]:
    """Where routes begin and end. SIPs that a switch joins are alike, so those of the first stand for all."""
    kinds = np.array(machine.node_kind)
    within = np.array([name.startswith("sip0.") or kind == "switch" for name, kind in _named(machine)])
    if "switch" not in machine.node_kind:
        within[:] = True
    for intent, sources, ends in _TRAFFIC:
        yield Origins(intent, np.flatnonzero(np.isin(kinds, sources) & within), np.isin(kinds, ends))


def _named(machine: Machine) -> Iterator[tuple[str, str]]:
    return zip(machine.node_name, machine.node_kind, strict=True)


def _like(machine: Machine) -> np.ndarray:
    """int64[edge] the first link of the same place in its SIP, if a switch joins the SIPs; else each link itself."""
    edges = np.arange(machine.edge_count)
    if "switch" in machine.node_kind:
        first = dict[str, int]()
        for edge, name in enumerate(machine.station_name[: machine.edge_count]):
            edges[edge] = first.setdefault(_SIP.sub("", name), edge)
    return edges
