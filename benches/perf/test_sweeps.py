"""Whole sweeps, from the grid to the table: many points of one structure, many structures, what a point costs besides.

The yardstick of sharing is a single run in the same process, which compiles, records and runs by itself. Every sweep begins
with an empty directory, and its time counts everything: checking the grid, running, keeping rows, writing the table.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

import kernbench
from benches.perf.figures import Figures
from benches.perf.processes import outcome
from kernbench.sweep.point import Point
from kernbench.sweep.run import run_sweep
from tests.sweep.fakes import result

ONE_CUBE = {"topology.sips.count": 1, "topology.sip.cubes.w": 1, "topology.sip.cubes.h": 1}
GEMM = {"M": 256, "N": 256, "K": 256}
BANDWIDTHS = {"topology.hbm.channel_gbs": (8.0, 64.0), "topology.noc.gbs": (64.0, 512.0)}


def sweep_s(mode: str, parameters: Mapping[str, Any], **options: Any) -> float:
    """Seconds that a sweep takes; all its points must come to a result."""
    grid = {
        "name": "perf",
        "bench": "matmul-composite",
        "topology": "sip_2x4x4",
        "mode": mode,
        "parameters": parameters,
    }
    with tempfile.TemporaryDirectory() as out:
        begun = perf_counter()
        done = run_sweep(grid, out, **options)
        took = perf_counter() - begun
    assert done.failed == 0
    return took


def spread(counts: tuple[int, int]) -> dict[str, Any]:
    """So many values of each bandwidth."""
    return {name: {"linspace": [*ends, count]} for (name, ends), count in zip(BANDWIDTHS.items(), counts, strict=True)}


def run_nothing(point: Point) -> object:
    """A run that takes no time."""
    return result(float(point.index))


def single_s(mode: str, *, cubes: int, count: int = 5) -> float:
    """Seconds of one run by itself, of a machine that is not in any cache of the process."""
    shape = {"sips.count": 1, "sip.cubes.w": cubes, "sip.cubes.h": cubes}
    begun = perf_counter()
    for _ in range(count):
        overrides = {**shape, "noc.gbs": float(np.random.default_rng().uniform(64, 512))}
        kernbench.run("matmul-composite", "sip_2x4x4", mode=mode, parameters=GEMM, overrides=overrides)
    return (perf_counter() - begun) / count


def test_bounds_of_one_program(figures: Figures) -> None:
    """100,000 points of the 256³ GEMM on one cube."""
    alone, all_in = figures.side_by_side(
        lambda: single_s("analytic", cubes=1),
        lambda: sweep_s("analytic", {**ONE_CUBE, **GEMM, **spread((400, 250))}),
        rounds=2,
    )
    figures.show("100,000 analytic points of one program", all_in, "s", "< 5")
    figures.ratio("analytic run by itself over analytic point of one program", alone / (all_in / 100_000))


def test_events_of_one_structure(figures: Figures) -> None:
    """2,000 points of the 256³ GEMM on one cube, on all cores."""
    alone, all_in = figures.side_by_side(
        lambda: single_s("hybrid", cubes=1),
        lambda: sweep_s("hybrid", {**ONE_CUBE, **GEMM, **spread((50, 40))}),
        rounds=2,
    )
    figures.show("2,000 event points that share structure", all_in, "s", "< 60")
    figures.ratio("run by itself over event point that shares structure", alone / (all_in / 2_000))


def test_structures(figures: Figures) -> None:
    """GEMMs of 1,000 shapes on 256 PEs, on all cores; machine and route trees are shared."""
    shapes = {
        "M": {"range": [128, 512, 42]},
        "N": {"range": [128, 512, 42]},
        "K": {"range": [256, 512, 64]},
        "variant": ["ref_ref", "load_ref"],
    }
    alone, all_in = figures.side_by_side(
        lambda: single_s("analytic", cubes=4, count=1), lambda: sweep_s("analytic", shapes), rounds=1
    )
    figures.show("1,000 structurally different analytic points", all_in, "s", "< 60")
    figures.ratio("analytic run by itself over structurally different point", alone / (all_in / 1_000))


def test_what_a_point_costs_besides(figures: Figures) -> None:
    """Runs that take no time, one after the other in this process."""
    (all_in,) = figures.side_by_side(
        lambda: sweep_s("hybrid", {**GEMM, **spread((200, 100))}, workers=1, run=run_nothing), rounds=2
    )
    figures.show("machinery of a sweep, a point", all_in / 20_000 * 1e6, "µs", "< 50")


def test_memory(figures: Figures) -> None:
    """Bounds of the 256³ GEMM on one cube: a hundred points and 100,000, each sweep in a process of its own.

    While points run memory stands still, however many they are. What grows with them is where their rows are, and their keys.
    """
    grown = []

    def peak_mb(first: int, second: int) -> float:
        parameters = {**ONE_CUBE, **GEMM, **spread((first, second))}
        found = outcome(f"sweep({parameters}, {first * second})")
        grown.append(found["grown_mb"])
        return found["peak_mb"]

    few, many = figures.side_by_side(lambda: peak_mb(10, 10), lambda: peak_mb(400, 250), rounds=3)
    figures.show("growth while 100,000 points run", np.array(grown[1::2]), "MB", "< 20")
    figures.show("sweep of 100 points: peak memory of the process", few, "MB")
    figures.show("sweep of 100,000 points: peak memory of the process", many, "MB")
    figures.show("points of a sweep in memory, a point", (many - few) * 1e6 / (100_000 - 100), "bytes", "< 1,000")
    figures.ratio("peak memory of a sweep of 100 points over one of 100,000", few / many)
