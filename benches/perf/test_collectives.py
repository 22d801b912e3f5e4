"""Collectives: how long the simulator takes for an all-reduce of 64 KiB a PE, with every flit an event."""

from __future__ import annotations

from functools import partial
from time import perf_counter

from benches.perf.figures import Figures
from kernbench import run

BYTES = 65536


def took_s(n_sips: int) -> float:
    """Seconds of one run on a torus, its machine compiled before."""
    named = {"algorithm": "lrab_hierarchical_allreduce", "slot_size": 4096}  # the same work in all measurements
    parameters = {"n_sips": n_sips, "sip_topology": "torus_2d", "bytes_per_pe": BYTES, **named}
    started = perf_counter()
    run("ccl-allreduce", parameters=parameters, mode="flit")
    return perf_counter() - started


def test_six_sips(figures: Figures) -> None:
    """The harness's own size: 96 cubes."""
    took_s(6)
    (seconds,) = figures.side_by_side(partial(took_s, 6), rounds=3)
    figures.show("all-reduce of 64 KiB a PE, 6 SIPs, flit mode", seconds, "s", "under 2 s")


def test_sixty_four_sips(figures: Figures) -> None:
    """A tray of 1,024 cubes and 8,192 PEs."""
    (seconds,) = figures.side_by_side(partial(took_s, 64), rounds=1)
    figures.show("all-reduce of 64 KiB a PE, 64 SIPs, flit mode", seconds, "s", "under 60 s")
