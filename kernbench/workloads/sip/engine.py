"""What a PE can do, as the bounds of blocks and tiles count it: its engines, its memories and the way to others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kernbench.dtypes import bits
from kernbench.machine import Intent, RouteKind
from kernbench.machine.network.uncontended_latency import find_uncontended_latency

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


class Engine(NamedTuple):
    """Of a PE: flops, bytes of its TCM and of its HBM in a femtosecond; its tile; its scratch; PEs of a cube and of a SIP.

    `link_bytes_fs` is of a connection between cubes, `burst_bytes` of its memory, `element_fs` of f32 on its vector engine.
    """

    flops_fs: float
    tcm_bytes_fs: float
    hbm_bytes_fs: float
    link_bytes_fs: float
    burst_bytes: int
    element_fs: float
    read_fs: int  # of the shortest read
    far_read_fs: int  # the same, half way over the dies
    tile: tuple[int, int, int]
    scratch_bytes: int
    pes: int
    all_pes: int


def find_engine(machine: Machine, dtype: str) -> Engine:
    """What a PE can do."""
    figures, places = machine.figures, machine.places
    pes = places.pes_per_cube
    width = bits(dtype)
    memory = machine.terminals[places.hbm(0, 0, 0)]
    fs_per_flit = int(machine.stations.fs_per_flit[memory.first_station])
    hbm = memory.stripes * machine.flit_bytes / fs_per_flit
    tile = (int(figures["pe.tile_m"]), int(figures["pe.tile_k"]), int(figures["pe.tile_n"]))
    m, k, n = tile
    tile_fs = sum(figures[figure] * amount for figure, amount in machine.costs.product(m, k, n, width))
    burst = int(figures["hbm.burst_bytes"])
    trips_fs = [_trip_fs(machine, cube, burst) for cube in (0, places.cubes_per_sip // 2)]
    return Engine(
        2 * m * k * n / tile_fs,
        1 / figures["pe_tcm.read_byte"],
        hbm,
        1 / figures["ucie.byte"],
        burst,
        figures["pe_math.element_32"],
        trips_fs[0],
        trips_fs[1],
        tile,
        int(figures["pe.scratch_bytes"]),
        pes,
        pes * places.cubes_per_sip,
    )


def _trip_fs(machine: Machine, cube: int, nbytes: int) -> int:
    """The time of a read of a memory of a cube by a PE of the first."""
    places, figures = machine.places, machine.figures
    route = machine.routing.route(places.pe(0, 0, 0).dma, places.hbm(0, cube, 0), Intent.PE_DMA, RouteKind.READ)
    before = figures["pe_mmu.tlb"] + figures["pe_scheduler.overhead"]
    return round(find_uncontended_latency(machine, route, nbytes).total_fs + before)
