"""Tanto programs: whole runs on 64 and 16 cores, with numbers and without, and the kernels as text."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from benches.perf.figures import Figures
from kernbench.machine import load_machine
from kernbench.runs.bench import find_bench, typed_parameters
from kernbench.tanto.context import TantoContext
from kernbench.tanto.language.translate import translate

KERNELS = Path(__file__).resolve().parents[1] / "tanto" / "kernels"
FILES = 160
PROGRAMS: dict[str, tuple[str, dict[str, Any], str]] = {
    "matmul, 64 cores, 4 × 320 × 640 × 960": (
        "tanto-matmul",
        {"M": 1280, "K": 640, "N": 1024, "grid_x": 8, "grid_y": 8},
        "< 5",
    ),
    "convolution, 16 cores, 56 × 56 × 64": (
        "tanto-conv",
        {"height": 56, "width": 64, "channels": 64, "filters": 64, "cores_x": 4, "cores_y": 4},
        "< 3",
    ),
}  # rounded up to what divides among the cores


def run_s(name: str, parameters: dict[str, Any], numbers: bool) -> float:
    """Seconds of a program, from its objects to its times."""
    bench = find_bench(name)
    context = TantoContext(load_machine("wormhole_n150"), bench.file.parent / "kernels")
    bench.call(context, typed_parameters(bench, parameters))
    begun = perf_counter()
    context.run(numbers=numbers, mode="hybrid")
    return perf_counter() - begun


def parse_s() -> float:
    """Seconds in which so many files are parsed and translated, as if each were new."""
    sources = sorted(KERNELS.glob("*.cpp"))
    begun = perf_counter()
    for number in range(FILES):
        translate(sources[number % len(sources)], {"T": "bfloat16"})
    return perf_counter() - begun


@pytest.mark.parametrize("what", PROGRAMS)
def test_programs(figures: Figures, what: str) -> None:
    """With numbers, and for the times alone."""
    name, parameters, target = PROGRAMS[what]
    run_s(name, parameters, numbers=False)
    whole, times = figures.side_by_side(
        lambda: run_s(name, parameters, numbers=True), lambda: run_s(name, parameters, numbers=False), rounds=3
    )
    figures.show(f"{what}, with numbers", whole, "s", target)
    figures.show(f"{what}, times alone", times, "s")


def test_parsing(figures: Figures) -> None:
    """Kernel files, parsed and translated."""
    (found,) = figures.side_by_side(parse_s, rounds=3)
    figures.show(f"{FILES} kernel files", found, "s", "< 2")
