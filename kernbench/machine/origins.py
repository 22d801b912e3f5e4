"""From which field of a topology each time of a machine comes.

A compiled machine holds the times and, among its figures, the fields themselves; which time comes from which field is known
to its family alone and written down here once more, because bounds are formulas in the fields. A test compiles machines with
other fields and compares. A time that is not in these tables is a constant: bounds hold, but do not follow its field. So are
all times of a part that somebody dropped in: what it makes of its fields, only it knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

_LINKS = {  # the kinds of the two ends, and the bandwidth of a link between them
    "router router": "noc.gbs",
    "m_cpu router": "noc.gbs",
    "hbm_ctrl router": "noc.gbs",
    "pe_cpu router": "noc.gbs",
    "pe_mmu router": "noc.gbs",
    "router sram": "sram.gbs",
    "pe_dma router": "pe_dma.gbs",
    "conn router": "ucie.gbs",
    "conn ucie": "ucie.gbs",
    "ucie ucie": "ucie.gbs",
    "io_ucie ucie": "ucie.gbs",
    "conn io_ucie": "ucie.gbs",
    "conn io_noc": "ucie.gbs",
    "io_noc pcie_ep": "pcie_ep.gbs",
    "io_cpu io_noc": "pcie_ep.gbs",
    "pcie_ep switch": "pcie_ep.gbs",
}
_CHANNELS = {"hbm_ctrl": "hbm.channel_gbs", "sram": "sram.gbs"}  # by kind of node
_PART_OF_NODE = {"router": "noc", "io_ucie": "ucie", "hbm_ctrl": "hbm"}  # where the part is not called as the node
_RATES = {  # figures that are a time for each of what is done at a rate, and how many of it a rate of 1 does in a ns
    "pe_cpu.cycle": ("pe_cpu.clock_ghz", 1),
    **{f"{part}.byte": (f"{part}.gbs", 1) for part in ("noc", "ucie", "pcie_ep", "pe_dma", "sram")},
    **{f"pe_ipcq.{what}_byte": (f"pe_ipcq.{what}_gbs", 1) for what in ("sram", "sram_hop", "hbm", "hbm_hop")},
    "pe_tcm.read_byte": ("pe_tcm.read_gbs", 1),
    "pe_tcm.write_byte": ("pe_tcm.write_gbs", 1),
    **{f"pe_gemm.flop_{bits}": (f"pe_gemm.tflops_f{bits}", 1000) for bits in (8, 16, 32)},
    **{f"pe_math.element_{bits}": (f"pe_math.elements_f{bits}", 1) for bits in (8, 16, 32)},
}
_TIMES = ("overhead_ns", "turn_ns", "tlb_ns", "sram_ns", "hbm_ns")
_RATED = frozenset({*_LINKS.values(), *_CHANNELS.values(), *(field for field, _ in _RATES.values())})


def may_vary(field: str) -> bool:
    """Whether machines that differ in a field of a topology may be of one structure: for some family, some part."""
    return field in _RATED or field.partition(".")[2] in _TIMES


@dataclass(frozen=True, slots=True)
class Origin:
    """A field, and how the time follows from it.

    With `factor`: femtoseconds for one thing at `factor` times the field's rate. Without: the field is the time, in ns.
    """

    field: str
    factor: int | None = None

    def fs(self, value: np.ndarray, amount: int = 1) -> np.ndarray:
        """float64[point]: the time of an amount where the field has these values, as the machine's compiler has it."""
        if self.factor is None:
            return amount * np.rint(value * FS_PER_NS)
        return amount * FS_PER_NS / (value * self.factor)


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of a machine's times; NONE of an index, or no key, is a time that does not vary."""

    known: tuple[Origin, ...]
    figures: Mapping[str, Origin]  # of what program durations are amounts of
    node: np.ndarray  # int64[node] into `known`: of its overhead as a node on the way
    service: np.ndarray  # int64[station] into `known`: of a byte
    overhead: np.ndarray  # int64[station]: of the node before it
    turn: np.ndarray  # int64[station]

    @property
    def fields(self) -> frozenset[str]:
        """The fields of which any time is known to come."""
        return frozenset(origin.field for origin in (*self.known, *self.figures.values()))


def no_origins(machine: Machine) -> Origins:
    """Nothing varies."""
    none = np.full(len(machine.stations.fs_per_flit), -1, np.int64)
    return Origins((), {}, none[:0], none, none, none)


def find_origins(machine: Machine) -> Origins:
    """All that is known of a machine."""
    known: dict[Origin, int] = {}

    def index(field: str | None, factor: int | None = None) -> int:
        if field is None or field not in machine.figures or field.partition(".")[0] in machine.dropins:
            return -1
        return known.setdefault(Origin(field, factor), len(known))

    count, kinds = len(machine.stations.fs_per_flit), machine.node_kind
    service, overhead, turn = (np.full(count, -1, np.int64) for _ in range(3))
    node = np.array([index(f"{part_of_node(kind)}.overhead_ns") for kind in kinds], np.int64)
    memories = list(machine.terminals)
    at_memory, node[memories] = node[memories], -1  # a memory's overhead is paid before its channels
    ends = zip(machine.edge_src.tolist(), machine.edge_dst.tolist(), machine.edge_gbs.tolist(), strict=True)
    for edge, (src, dst, gbs) in enumerate(ends):
        field = link_field(kinds[src], kinds[dst])
        overhead[edge] = node[src]
        base = machine.figures.get(field or "", 0)
        if base and round(gbs / base) * base == gbs:
            service[edge] = index(field, round(gbs / base))
    for (at, terminal), paid in zip(machine.terminals.items(), at_memory.tolist(), strict=True):
        channels = slice(terminal.first_station, terminal.first_station + terminal.stripes)
        part = part_of_node(kinds[at])
        service[channels] = index(_CHANNELS.get(kinds[at]), 1)
        overhead[channels] = paid
        turn[channels] = index(f"{part}.turn_ns")
    standard = [name for name in machine.figures if name.partition(".")[0] not in machine.dropins]
    figures = {figure: Origin(*rate) for figure, rate in _RATES.items() if rate[0] in standard}
    for name in standard:
        part, _, figure = name.partition(".")
        field = f"{part}.{figure.removesuffix('_access')}_ns"
        if (figure in ("overhead", "tlb", "turn") or figure.endswith("_access")) and field in machine.figures:
            figures[name] = Origin(field)
    return Origins(tuple(known), figures, node, service, overhead, turn)


def part_of_node(kind: str) -> str:
    """The part that a node of a kind is."""
    return _PART_OF_NODE.get(kind, kind)


def link_field(a: str, b: str) -> str | None:
    """The field that is the bandwidth of a link between nodes of two kinds, as far as it is known."""
    if a.startswith("pe_") and b.startswith("pe_"):
        return "pe_tcm.read_gbs"
    return _LINKS.get(" ".join(sorted((a, b))))
