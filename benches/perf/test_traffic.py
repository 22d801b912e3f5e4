"""Open traffic on bare networks: every node sends one long message to a random other one, in 256 B flits."""

from __future__ import annotations

import pytest

from benches.perf.figures import Figures
from benches.perf.programs import random_messages, random_pairs, rate, run
from benches.perf.simpy_mesh import SimpyMesh
from kernbench.machine import load_machine

KIB = 1024

# topology, columns and rows, bytes of a message, bytes of a message in SimPy, rounds
CASES = [
    pytest.param("mesh_8x8", 8, 64 * KIB, 64 * KIB, 5, id="mesh 8x8, 64 KiB"),
    pytest.param("mesh_8x8", 8, 1024 * KIB, 64 * KIB, 5, id="mesh 8x8, 1 MiB"),
    pytest.param("mesh_8x8", 32, 64 * KIB, KIB, 5, id="mesh 32x32, 64 KiB"),
    pytest.param("mesh_8x8", 32, 1024 * KIB, KIB, 1, id="mesh 32x32, 1 MiB"),
    pytest.param("torus_8x8", 8, 64 * KIB, 64 * KIB, 5, id="torus 8x8, 64 KiB"),
    pytest.param("torus_8x8", 32, 64 * KIB, KIB, 5, id="torus 32x32, 64 KiB"),
]


@pytest.mark.parametrize(("topology", "k", "nbytes", "simpy_bytes", "rounds"), CASES)
def test_flit_mode_against_simpy(
    figures: Figures, request: pytest.FixtureRequest, topology: str, k: int, nbytes: int, simpy_bytes: int, rounds: int
) -> None:
    """Flit-hops a second of the loop, and of SimPy on the same machine with as many or fewer flits."""
    name = request.node.callspec.id
    machine = load_machine(topology, {"k": k})
    pairs = random_pairs(machine)
    ours, simpy = figures.side_by_side(
        lambda: rate(run(random_messages(machine, nbytes))),
        lambda: SimpyMesh(machine, pairs, simpy_bytes).run(),
        rounds=rounds,
    )
    figures.show(f"{name}: flit mode", ours / 1e6, "M flit-hops/s", "≥ 100" if topology == "mesh_8x8" else "")
    figures.show(f"{name}: SimPy", simpy / 1e6, "M flit-hops/s")
    figures.ratio(f"{name}: flit mode over SimPy", ours / simpy, target="≥ 800")


def test_both_say_the_same(figures: Figures) -> None:
    """The SimPy model is the same wire: its last flit arrives at the same time."""
    machine = load_machine("mesh_8x8")

    def difference() -> float:
        simpy = SimpyMesh(machine, random_pairs(machine), 16 * KIB)
        simpy.run()
        session = run(random_messages(machine, 16 * KIB))
        assert simpy.flit_hops == session.flit_hops
        return simpy.env.now * 1e6 - session.now_fs

    (differences,) = figures.side_by_side(difference, rounds=1)
    assert abs(differences).max() < 1
