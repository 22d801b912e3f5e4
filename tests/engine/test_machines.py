"""Whole machines under random closed-loop traffic: both modes against the interpreter."""

import numpy as np
import pytest

from kernbench.machine import Intent, RouteKind, load_machine
from kernbench.program.program import Program
from tests.engine.difference import find_difference
from tests.engine.fresh import run_seed


def traffic(machine, seed, moves):
    """Every PE reads and writes slices near and far, two at a time, some at once and some after a pause."""
    rng, places = np.random.default_rng(seed), machine.places
    shape = places.sip_count, places.cubes_per_sip, places.pes_per_cube
    program = Program(machine)
    for pe in np.ndindex(*shape):
        place = places.pe(*map(int, pe))
        thread, done = program.thread(f"{pe}"), program.counter(f"done of {pe}")
        for _ in range(moves):
            for kind, server in ((RouteKind.READ, place.dma_read), (RouteKind.WRITE, place.dma_write)):
                near = rng.random() < 0.6
                target = pe if near else tuple(rng.integers(0, shape))
                route = machine.routing.route(place.dma, places.hbm(*map(int, target)), Intent.PE_DMA, kind)
                nbytes, stripe = int(rng.choice([0, 64, 256, 1000, 4096, 9000])), int(rng.integers(8))
                thread.move(route, nbytes, stripe=stripe, hold=server, done=done, arrive=done)
            thread.wait(done, 4, take=4)
            thread.delay(program.duration(("ns", float(rng.integers(3)))))
    return program


@pytest.mark.slow
@pytest.mark.parametrize(("topology", "moves"), [("tiny", 40), ("sip_2x4x4", 2)])
def test_traffic_of_every_pe_equals_the_interpreter(topology, moves):
    for seed in (7, run_seed()):
        difference = find_difference(traffic(load_machine(topology), seed, moves))
        assert difference is None, f"traffic of seed {seed}: {difference}"
