"""Programs that load the network alone, written out: no host, no kernels, nothing else that takes time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kernbench.engine import Session
from kernbench.machine import Machine, load_machine
from kernbench.machine.families.mesh.places import MeshPlaces
from kernbench.machine.families.sip.places import PePlace
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.program import Program

SEED = 1


def random_pairs(machine: Machine) -> list[tuple[int, int]]:
    """Every endpoint of a mesh, with another one at random."""
    nodes = endpoints(machine)
    away = np.random.default_rng(SEED).integers(1, len(nodes), len(nodes))
    return [(node, nodes[(i + away[i]) % len(nodes)]) for i, node in enumerate(nodes)]


def endpoints(machine: Machine) -> list[int]:
    """The nodes of a mesh between which messages go."""
    places = machine.places
    assert isinstance(places, MeshPlaces)
    return [places.endpoint(row, col) for row in range(places.h) for col in range(places.w)]


def random_messages(machine: Machine, nbytes: int, count: int = 1) -> Program:
    """Every endpoint sends messages to another at random, the next when the one before has arrived."""
    program = Program(machine)
    for src, dst in random_pairs(machine):
        thread = program.thread(str(src))
        route = machine.routing.route(src, dst, Intent.ALL, RouteKind.MESSAGE)
        if count == 1:
            thread.move(route, nbytes)
        else:
            done = program.counter(src)
            for _ in range(count):
                thread.move(route, nbytes, done=done)
                thread.wait(done, 1, take=1)
    return program


def all_pes(machine: Machine) -> Iterator[PePlace]:
    """Every PE of the machine."""
    places = machine.places
    for sip in range(places.sip_count):
        for cube in range(places.cubes_per_sip):
            for pe in range(places.pes_per_cube):
                yield places.pe(sip, cube, pe)


def reads(machine: Machine, nbytes: int, count: int, *, own: bool) -> Program:
    """Every PE reads `count` times, from its own memory slice or all from that of the first, and waits for each."""
    return _reads(machine, nbytes, count, lambda pe: (pe.sip, pe.cube, pe.pe) if own else (0, 0, 0))


def shifted_reads(machine: Machine, nbytes: int, count: int) -> Program:
    """Every PE reads `count` times from the slice of its like in the next cube of its package, and waits for each."""
    cubes = machine.places.cubes_per_sip
    return _reads(machine, nbytes, count, lambda pe: (pe.sip, (pe.cube + 1) % cubes, pe.pe))


def _reads(machine: Machine, nbytes: int, count: int, find: Callable[[PePlace], tuple[int, int, int]]) -> Program:
    program = Program(machine)
    for place in all_pes(machine):
        thread, done = program.thread(str(place.dma)), program.counter(place.dma)
        route = machine.routing.route(place.dma, machine.places.hbm(*find(place)), Intent.PE_DMA, RouteKind.READ)
        for _ in range(count):
            thread.move(route, nbytes, done=done, hold=place.dma_read)
            thread.wait(done, 1, take=1)
    return program


def run(program: Program, mode: str = "flit") -> Session:
    """A finished run; a program runs once."""
    session = Session(program, mode)
    session.run()
    session.check_finished()
    assert session.flit_hops > 0
    return session


def warm_up() -> None:
    """Have all loops compiled or loaded."""
    run(reads(load_machine("tiny"), 4096, 2, own=True))
    run(random_messages(load_machine("mesh_8x8", {"k": 3}), 4096, 2))


def rate(session: Session) -> float:
    """Flit-hops a second of the loop alone."""
    return session.flit_hops / session.wall_s
