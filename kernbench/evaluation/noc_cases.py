"""Measurements of a chip's networks as programs: which cores move what, between which places.

A case is named by its `pattern`. Cores of a grid are a square from the first core on, or whole rows. Reads take the
second network and writes the first, as the measured programs do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt
from typing import TYPE_CHECKING

from kernbench.engine import Session
from kernbench.errors import InputError
from kernbench.machine.families.tensix.places import READER_NETWORK, WRITER_NETWORK
from kernbench.traffic.noc_trace.lowering import Issuer, Lowering
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.traffic.noc_trace.events import Place

Grid = Sequence["Place"]
Owners = Callable[
    [Lowering, Grid, int], Sequence["Place"]
]  # of a core by its number in the grid, what it moves to or from


def _beside(lowering: Lowering, _grid: Grid, _core: int) -> Sequence[Place]:
    return [lowering.places.physical((0, 1))]


def _across(lowering: Lowering, _grid: Grid, _core: int) -> Sequence[Place]:
    return [lowering.places.physical((1, 1))]


def _banks(lowering: Lowering, _grid: Grid, _core: int) -> Sequence[Place]:
    return [lowering.places.bank_place(bank) for bank in range(lowering.places.grid.banks)]


def _all(_lowering: Lowering, grid: Grid, _core: int) -> Sequence[Place]:
    return grid


PATTERNS: dict[str, tuple[str, Owners]] = {
    "read same axis": ("read", _beside),
    "read other axes": ("read", _across),
    "write same axis": ("write", _beside),
    "write other axes": ("write", _across),
    "read dram": ("read", _banks),
    "write dram": ("write", _banks),
    "one from all": ("read", _all),
    "one to all": ("write", _all),
    "multicast": ("multicast", _all),
    "all from all": ("read", _all),
}


_OF_GRIDS = ("one to all", "one from all", "multicast", "all from all")


def measure_case(machine: Machine, pattern: str, cores: int, nbytes: int, transactions: int, mode: str) -> float:
    """The cycles of a case, from its first instruction to the end of its last barrier: of all cores the longest.

    `transactions` are those of each core, dealt over its places in turn. Errors: InputError for a grid that the chip lacks.
    """
    kind, owners = PATTERNS[pattern]
    lowering = Lowering(machine)
    grid = _grid(lowering, cores if pattern in _OF_GRIDS else 1)
    figures = machine.figures
    gap_ns = figures["tensix_noc.read_gap_ns" if kind == "read" else "tensix_noc.write_gap_ns"]
    gap = max(gap_ns * FS_PER_NS / lowering.cycle_fs, lowering.costs.read if kind == "read" else lowering.costs.write)
    look = lowering.cycles(figures["tensix_core.register_cycles"] + figures["tensix_core.operation_cycles"])
    for number, place in enumerate(grid if pattern.startswith("all ") else grid[:1]):
        thread = lowering.program.thread(f"core {number}")
        issuer = Issuer(lowering, thread, place, READER_NETWORK if kind == "read" else WRITER_NETWORK)
        peers = [peer for peer in owners(lowering, grid, number) if peer != place or pattern == "all from all"]
        if kind == "multicast":  # the links are reserved again when the packet before has left
            gap = (
                lowering.reservation_cycles(issuer.network, place, peers)
                + nbytes / figures["tensix_noc.gbs"] * FS_PER_NS / lowering.cycle_fs
            )
        issue = lowering.cycles(gap)
        for at in range(transactions):
            if kind == "multicast":
                issuer.multicast(peers, nbytes)
            else:
                (issuer.read if kind == "read" else issuer.write)(peers[at % len(peers)], nbytes)
            thread.delay(issue)
        issuer.wait(reads=True, writes=True)
        thread.delay(look)
    session = Session(lowering.program, mode)
    session.run()
    session.check_finished()
    return session.now_fs / lowering.cycle_fs


def _grid(lowering: Lowering, cores: int) -> Grid:
    """The physical places of the cores of a case: a square, or rows of the chip."""
    places = lowering.places
    width = isqrt(cores) if isqrt(cores) ** 2 == cores else places.w
    height = cores // width
    if width > places.w or height > places.h or width * height != cores:
        raise InputError(
            f"{lowering.machine.name} has no {cores} cores in a square or in whole rows; it has {places.w} x {places.h}"
        )
    return [places.physical((x, y)) for y in range(height) for x in range(width)]
