"""Random programs on machines of all families whose figures are at the ends of their ranges: times from 1 fs to seconds.

A flit of 1 MiB takes 1.05 s over the slowest link, and the clock counts to 4,611 s: a run that the interpreter ends later is
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from kernbench.library import find
from kernbench.machine import Intent, RouteKind
from kernbench.machine.load import compile_machine
from kernbench.machine.machine import Machine
from kernbench.program.ops import NONE
from kernbench.program.program import Program
from tests.engine.work import Work

Way = tuple[int, int, Intent, RouteKind]  # from a node to another

SIZES = (1, 256, 1 << 20)  # of flits and bursts
GBS = (0.001, 0.001, 1, 1e6)
NS = (0, 0, 0.000_001, 1e9)
TOPOLOGIES = {"mesh": "mesh_8x8", "sip": "tiny", "tensix": "tensix_tiny", "ascend": "ascend_tiny"}
FLITS = (0, 1, 1, 2, 3, 7, 30)
FEW = 400  # flits over links of a program, most of which end within the clock
MANY = 20_000


def ends(random: Random) -> Program:
    """Transfers between parts, one after the other or all at once."""
    some, family = random.choice, random.choice(list(TOPOLOGIES))
    machine = compile_machine(find("topology", TOPOLOGIES[family]), draw_fields(random, family))
    program, work, flit_bytes = Program(machine), Work(machine), machine.flit_bytes
    work.left = some((FEW, FEW, FEW, MANY))
    flits = (*FLITS, 2000, 5000) if work.left == MANY else FLITS
    ways = draw_ways(random, machine, family)
    for number in range(random.randint(1, 4)):
        thread, done = program.thread(f"{number}"), program.counter(f"done of {number}")
        for _ in range(random.randint(1, 5)):
            route = machine.routing.route(*some(ways))
            nbytes = max(0, some(flits) * flit_bytes - some((0, 1, flit_bytes // 2, flit_bytes - 1)))
            size, lead = work.draw(route, nbytes) if nbytes else 0, program.duration(("ns", float(some(NS))))
            counts = random.random() < 0.8
            thread.move(route, size, stripe=some((0, 1, 5)), done=done if counts else NONE, lead=lead)
            if counts and random.random() < 0.6:
                thread.wait(done, 1, take=1)
    return program


def draw_fields(random: Random, family: str) -> dict[str, Any]:
    """Fields of a machine of a family; in one whose routers have finite buffers all links are alike, so that cycles are few."""
    some = random.choice
    flit_bytes, gbs = some(SIZES), lambda: some(GBS)
    fields: dict[str, Any] = {"flit_bytes": flit_bytes}
    match family:
        case "mesh":
            fields |= {"w": 3, "h": 2, "torus": some((True, False)), "hop_ns": some(NS), "link_gbs": gbs()}
            fields |= {"endpoint_gbs": gbs(), "injection_ns": some(NS), "interleave": some(("flits", "packets"))}
            if random.random() < 0.3:
                slow = {"link_gbs": 0.001, "endpoint_gbs": 0.001, "hop_ns": 0, "injection_ns": 0, "ejection_ns": 0}
                depth = {"buffer_flits": some((1, 16_384)), "packet_flits": some((1, 1_048_576))}
                fields |= slow | depth | {"interleave": "flits", "flow_control": "credit", "flit_bytes": 1 << 20}
        case "sip":
            burst = some([size for size in SIZES if size <= flit_bytes])
            fields |= {"hbm.burst_bytes": burst, "hbm.channel_gbs": gbs(), "noc.gbs": gbs(), "ucie.gbs": gbs()}
            fields |= {"hbm.turn_ns": some(NS), "hbm.overhead_ns": some(NS), "noc.overhead_ns": some(NS)}
            fields |= {"ns_per_mm": some((0, 1000))}
        case "tensix":
            ends = [f"{part}_{way}_gbs" for part in ("core", "dram") for way in ("read", "write")]
            fields |= {f"tensix_noc.{name}": gbs() for name in ("gbs", "core_dram_gbs", *ends)}
            fields |= {"tensix_dram.bank_gbs": gbs(), "tensix_dram.burst_bytes": some(SIZES)}
            fields |= {"tensix_noc.hop_ns": some(NS), "tensix_dram.access_ns": some(NS)}
        case _:
            fields |= {f"{part}.{way}_gbs": gbs() for part in ("aic", "aiv") for way in ("read", "write")}
            for part in ("l2", "gm_hbm"):
                fields |= {f"{part}.channel_gbs": gbs(), f"{part}.burst_bytes": some(SIZES)}
                fields |= {f"{part}.channels": some((1, 2, 1024)), f"{part}.overhead_ns": some(NS)}
    return fields


def draw_ways(random: Random, machine: Machine, family: str) -> list[Way]:
    """Some ways between parts of a machine."""
    some, places, moves = random.choice, machine.places, (RouteKind.READ, RouteKind.WRITE)
    sources: list[int]
    match family:
        case "mesh":
            sources = targets = [places.endpoint(row, column) for row in range(2) for column in range(3)]
            moves = (RouteKind.MESSAGE, RouteKind.ACKNOWLEDGED)
        case "sip":
            pes = [(0, cube, pe) for cube in range(places.cubes_per_sip) for pe in range(places.pes_per_cube)]
            sources, targets = [places.pe(*pe).dma for pe in pes], [places.hbm(*pe) for pe in pes]
            return [(some(sources), some(targets), Intent.PE_DMA, some(moves)) for _ in range(4)]
        case "tensix":
            cores = [(x, y) for y in range(places.h) for x in range(places.w)]
            sources = [
                end(core, network)
                for end in (places.interface, places.dram_side)
                for core in cores
                for network in (0, 1)
            ]
            targets = [*map(places.l1, cores), *map(places.bank, range(places.grid.banks))]
        case _:
            sources, targets = (
                [places.core(c, lane).node for c in (0, 1) for lane in range(3)],
                [places.l2, places.gm_hbm],
            )
    return [(some(sources), some(targets), Intent.ALL, some(moves)) for _ in range(4)]


KINDS: dict[str, Callable[[Random], Program]] = {"ends": ends}
