"""Random packets, reproducible."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.machine import load_machine
from kernbench.traffic.flows import Flows
from kernbench.traffic.injection_process import InjectionProcess


def packets(load: float = 0.3, flits: int = 4, slots: int = 4000, seed: int = 0, pattern: str = "uniform") -> Flows:
    return InjectionProcess(pattern, flits, seed, slots // 2).packets(load_machine("mesh_8x8", {"link_gbs": 128}), load)


def test_as_many_packets_as_the_load_says() -> None:
    for load, flits in ((0.3, 4), (1.0, 1), (0.001, 8)):
        want = load / flits * 64 * 4000
        assert len(packets(load, flits)) == pytest.approx(want, abs=4 * want**0.5 + 1e-9)
    assert len(packets(1.0, 1)) == 64 * 4000


def test_packets_begin_at_flit_times_one_at_a_time() -> None:
    flows = packets()
    assert (flows.start_fs % 2_000_000 == 0).all()
    assert flows.start_fs.max() < 4000 * 2_000_000
    assert len(np.unique(np.stack([flows.src, flows.start_fs]), axis=1).T) == len(flows)
    assert (flows.nbytes == 4 * 256).all()
    assert flows.where(3) == "packet 3 of pattern uniform"


def test_gaps_are_geometric() -> None:
    """The chance of a packet is the same in every flit time, however long ago the last one was."""
    flows = packets(load=0.8, flits=4, slots=20_000)
    times = np.sort(flows.start_fs[flows.src == 5] // 2_000_000)
    gaps = np.diff(times)
    assert gaps.mean() == pytest.approx(5, rel=0.05)
    assert gaps.std() == pytest.approx((0.8 / 0.04) ** 0.5, rel=0.07)


def test_a_node_that_is_its_own_partner_sends_to_itself() -> None:
    flows = packets(pattern="transpose")
    assert len(flows) == pytest.approx(0.3 / 4 * 64 * 4000, rel=0.05)
    assert np.unique(flows.src[flows.src == flows.dst]).tolist() == list(range(0, 64, 9))


def test_the_seed_decides() -> None:
    same, other = packets(), packets(seed=1)
    assert packets().start_fs.tolist() == same.start_fs.tolist()
    assert packets().dst.tolist() == same.dst.tolist()
    assert other.start_fs.tolist() != same.start_fs.tolist()
