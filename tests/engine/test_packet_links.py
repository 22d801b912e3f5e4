"""Links that keep the flits of a packet together, without credits."""

from __future__ import annotations

from random import Random

import pytest

from kernbench.engine import Session
from kernbench.program.program import Program
from kernels_jit.layout import codes
from tests.engine.bare import BareMachine
from tests.engine.difference import find_difference
from tests.engine.fresh import run_seed
from tests.engine.random_programs import draw_program
from tests.naive.engine import NaiveEngine

FIRST, SECOND, SHARED = range(3)


def land(packet_flits: int | None, first_fs: int, start_fs: int) -> list[int]:
    """When two transfers of three flits land that share a link of 10 fs a flit; the second has another link of 10 before."""
    machine = BareMachine([(first_fs, 1, 0, 0), (10, 1, 0, 0), (10, 1, 0, 0)], 3, [1])
    machine.packet_flits = packet_flits
    program = Program(machine)
    for number, link in enumerate((FIRST, SECOND)):
        thread = program.thread(f"{number}")
        thread.delay(program.duration(("fs", start_fs if link == SECOND else 0)))
        thread.move(machine.route("message", [link, SHARED]), 3 * machine.flit_bytes, done=program.counter(f"{link}"))
    assert find_difference(program) is None
    naive = NaiveEngine(program).run()
    return [naive.end[thread.chunks[0][1] + 1] for thread in program.threads]


def test_flits_of_two_packets_take_turns() -> None:
    assert land(None, first_fs=10, start_fs=5) == [60, 70]


def test_the_packet_whose_first_flit_came_first_goes_first() -> None:
    assert land(3, first_fs=10, start_fs=5) == [40, 70]
    assert land(1000, first_fs=10, start_fs=5) == [40, 70]


def test_packets_of_one_flit_are_flits() -> None:
    assert land(1, first_fs=10, start_fs=5) == land(None, first_fs=10, start_fs=5)


def test_a_link_waits_for_flits_that_have_not_come() -> None:
    """The first comes at 20, 40, 60 and the second at 25, 35, 45."""
    assert land(None, first_fs=20, start_fs=15) == [80, 70]
    assert land(3, first_fs=20, start_fs=15) == [70, 100]


def test_a_longer_transfer_is_several_packets() -> None:
    """The first two flits are served from 20 and 40 on, then both packets of the second, which came before the third."""
    assert land(2, first_fs=20, start_fs=15) == [90, 80]


class Witness(NaiveEngine):
    """The interpreter, and what each station serves."""

    def __init__(self, program) -> None:
        super().__init__(program)
        self.served: dict[int, list[tuple[int, int, bool]]] = {}

    def pass_flit(self, now, flit, flight, step, station) -> None:
        """As the interpreter's."""
        size = self.machine.packet_flits
        last = flit + 1 == flight.flits or (flit + 1) % size == 0
        self.served.setdefault(id(station), []).append((flight.job.owner, flit // size, last))
        super().pass_flit(now, flit, flight, step, station)


@pytest.mark.parametrize("kind", ["packets", "packet_mesh"])
def test_nothing_comes_between_the_flits_of_a_packet(kind: str) -> None:
    several = 0
    for seed in range(run_seed(), run_seed() + 40):
        program = draw_program(kind, seed)
        program.flush()
        for served in Witness(program).run().served.values():
            begun = None
            for owner, packet, last in served:
                assert begun in (None, (owner, packet))
                begun = None if last else (owner, packet)
            assert begun is None
            several += len({owner for owner, *_ in served}) > 1
    assert several > 20


@pytest.mark.parametrize("kind", ["packets", "packet_mesh"])
def test_no_packet_is_left_on_a_link(kind: str) -> None:
    for seed in range(run_seed(), run_seed() + 20):
        program = draw_program(kind, seed)
        session = Session(program, Random(seed).choice(("flit", "hybrid")))
        session.run()
        memory = session._memory
        packets = memory.words[memory["packets"] :][: len(program.machine.stations.fs_per_flit)]
        assert (packets == codes.NONE).all()
