"""Work that waits for its own transfers, on the default machine; hybrid against flit mode."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import pytest

from benches.perf.figures import Figures
from benches.perf.programs import random_messages, random_pairs, rate, reads, run
from benches.perf.simpy_mesh import SimpyMesh
from kernbench import run as run_bench
from kernbench.engine import Session
from kernbench.machine import load_machine

KIB = 1024


def gemm(size: int, mode: str) -> Session:
    """The run of a GEMM whose 256 PEs stream tiles."""
    sizes = {"M": size, "K": size, "N": size}
    return run_bench("matmul-composite", "sip_2x4x4", mode=mode, parameters=sizes).device.session


def hot_spot(mode: str) -> Session:
    """256 PEs that read 64 KiB from one slice, four times, each holding its DMA channel."""
    return run(reads(load_machine("sip_2x4x4"), 64 * KIB, 4, own=False), mode)


def placed(nbytes: int) -> Callable[[str], Session]:
    """256 PEs that read their own slices."""
    return lambda mode: run(reads(load_machine("sip_2x4x4"), nbytes, 8, own=True), mode)


def simpy_rate() -> float:
    """The yardstick: flit-hops a second of SimPy on a mesh."""
    mesh = load_machine("mesh_8x8")
    return SimpyMesh(mesh, random_pairs(mesh), 16 * KIB).run()


@pytest.mark.parametrize(
    "work",
    [pytest.param(lambda mode: gemm(1024, mode), id="GEMM 1024"), pytest.param(hot_spot, id="hot spot 64 KiB")],
)
def test_flit_mode_against_simpy(
    figures: Figures, request: pytest.FixtureRequest, work: Callable[[str], Session]
) -> None:
    """Flit-hops a second of the loop; as a yardstick, those of SimPy on a mesh."""
    name = request.node.callspec.id
    ours, simpy = figures.side_by_side(lambda: rate(work("flit")), simpy_rate)
    figures.show(f"{name}: flit mode", ours / 1e6, "M flit-hops/s", "≥ 30")
    figures.ratio(f"{name}: flit mode over SimPy on a mesh", ours / simpy)


HYBRID = [
    pytest.param(placed(64 * KIB), 5, "≥ 20", id="placed reads 64 KiB"),
    pytest.param(placed(1024 * KIB), 3, "≥ 20", id="placed reads 1 MiB"),
    pytest.param(lambda mode: gemm(2048, mode), 3, "", id="GEMM 2048"),
    pytest.param(lambda mode: gemm(4096, mode), 1, "≥ 5", id="GEMM 4096"),
    pytest.param(hot_spot, 5, "≥ 0.83", id="hot spot 64 KiB"),
]


@pytest.mark.parametrize(("work", "rounds", "target"), HYBRID)
def test_hybrid_against_flit_mode(
    figures: Figures, request: pytest.FixtureRequest, work: Callable[[str], Session], rounds: int, target: str
) -> None:
    """Seconds in the loop."""
    compare_modes(figures, request.node.callspec.id, work, rounds, target)


def test_hybrid_against_flit_mode_on_a_mesh(figures: Figures) -> None:
    """Uniform random traffic: hardly a link that is not shared."""

    def uniform(mode: str) -> Session:
        return run(random_messages(load_machine("mesh_8x8"), 1024 * KIB), mode)

    compare_modes(figures, "mesh 8x8, 1 MiB", uniform, 5, "≥ 0.83")


def compare_modes(figures: Figures, name: str, work: Callable[[str], Session], rounds: int, target: str) -> None:
    """How many times faster hybrid mode is; both end at the same tick."""
    ends = set()

    def loop_s(mode: str) -> float:
        session = work(mode)
        ends.add(session.now_fs)
        return session.wall_s

    flit, hybrid = figures.side_by_side(lambda: loop_s("flit"), lambda: loop_s("hybrid"), rounds=rounds)
    assert len(ends) == 1
    figures.show(f"{name}: loop in flit mode", flit * 1e3, "ms")
    figures.show(f"{name}: loop in hybrid mode", hybrid * 1e3, "ms")
    figures.ratio(f"{name}: hybrid over flit mode", flit / hybrid, target)


def test_a_recorded_gemm_as_a_whole(figures: Figures) -> None:
    """512 x 512 x 512 f16 on 256 PEs, flit mode: kernels, host and loop."""

    def whole() -> float:
        begun = perf_counter()
        gemm(512, "flit")
        return perf_counter() - begun

    seconds, simpy = figures.side_by_side(whole, lambda: 1e5 / simpy_rate())
    figures.show("GEMM 512, recorded, flit mode: whole run", seconds, "s", "< 5")
    figures.ratio("100,000 flit-hops of SimPy over GEMM 512, recorded, flit mode, whole run", simpy / seconds)
