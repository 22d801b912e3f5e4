"""Networks with credits beside networks without limit: the same packets, and the same kernels, in one process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benches.perf.figures import Figures
from kernbench import run as run_bench
from kernbench.machine import load_machine
from kernbench.traffic.injection_process import InjectionProcess
from kernbench.traffic.run import run_flows

LOAD = 0.3  # of what a node can inject, on 8 x 8 nodes
HOPS = 2_000_000  # crossings of links in a measurement, about


def uniform(topology: str, flits: int, k: int = 8) -> Callable[[], float]:
    """Measures flit-hops a second of the loop: uniform traffic of packets of so many flits, a load scaled to the bisection."""
    machine, load = load_machine(topology, {"k": k}), LOAD * 8 / k
    flit_hops = load * k * k * (2 * k / 3 + 2)  # in a flit time
    packets = InjectionProcess("uniform", flits, window=round(HOPS / flit_hops / 2)).packets(machine, load)

    def measure() -> float:
        result = run_flows(machine, packets, "flit")
        return result.flit_hops / result.wall_s

    return measure


@pytest.mark.parametrize("flits", [1, 4, 16])
def test_uniform_traffic(figures: Figures, flits: int) -> None:
    """`mesh_8x8_credit` against `mesh_8x8`: packets of one size."""
    sides = (uniform(name, flits) for name in ("mesh_8x8_credit", "mesh_8x8"))
    ours, unbounded = figures.side_by_side(*sides)
    name = f"uniform traffic, packets of {flits}"
    figures.show(f"{name}: credits", ours / 1e6, "M flit-hops/s", "" if flits == 4 else "≥ 12")
    figures.ratio(f"{name}: credits over unbounded", ours / unbounded, target="≥ 0.2")


@pytest.mark.parametrize("flits", [1, 4, 16])
def test_sizes_of_a_mesh(figures: Figures, flits: int) -> None:
    """Meshes of 16 x 16 and 32 x 32 nodes against one of 8 x 8: packets of one size."""
    sides = (uniform("mesh_8x8_credit", flits, k) for k in (8, 16, 32))
    small, *larger = figures.side_by_side(*sides, rounds=3)
    for k, rates in zip((16, 32), larger, strict=True):
        name = f"mesh {k}x{k} with credits, packets of {flits}: flit-hops/s against 8x8"
        figures.ratio(name, rates / small, target="about 1")


def kernel_s(bench: str, topology: str, parameters: dict[str, object]) -> Callable[[], float]:
    """Measures seconds of the loop for a bench in flit mode."""
    return lambda: run_bench(bench, topology, mode="flit", parameters=parameters).device.session.wall_s


@pytest.mark.parametrize(
    ("name", "bench", "parameters"),
    [
        pytest.param("GEMM 1024", "matmul-composite", {"M": 1024, "K": 1024, "N": 1024}, id="GEMM"),
        pytest.param("all-reduce of 4 KiB a PE", "ccl-allreduce", {"bytes_per_pe": 4096}, id="all-reduce"),
    ],
)
def test_kernels(figures: Figures, name: str, bench: str, parameters: dict[str, object]) -> None:
    """Kernels on `sip_2x4x4_credit` against `sip_2x4x4`, every flit an event on both."""
    sides = (kernel_s(bench, topology, parameters) for topology in ("sip_2x4x4_credit", "sip_2x4x4"))
    ours, unbounded = figures.side_by_side(*sides)
    figures.ratio(f"{name}: unbounded over credits, time of the loop", unbounded / ours, target="≥ 0.167")
