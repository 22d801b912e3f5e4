"""Latency against load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.traffic.curve import Curve, find_saturation, run_curve
from kernbench.traffic.injection_process import InjectionProcess
from kernbench.traffic.load_point import LoadPoint, find_alone_fs


def curve(pattern: str, *loads: float, topology: str = "mesh_8x8", **options: int) -> Curve:
    return run_curve(
        load_machine(topology), InjectionProcess(pattern, **{"window": 600, "packet_flits": 2, **options}), loads
    )


def point(load: float, latency_ns: float) -> LoadPoint:
    return LoadPoint(load, load, 1, 10.0, latency_ns, latency_ns, latency_ns, latency_ns, 0.0, 0, 0.0)


@pytest.mark.parametrize(
    ("latencies", "saturation"),
    [([11, 12, 13], None), ([11, 20, 40], 0.25), ([30, 50, 90], 0.1), ([11, 30, 99], 0.2)],
)
def test_saturation_is_where_latency_has_tripled(latencies: list[float], saturation: float | None) -> None:
    points = [point(0.1 * (i + 1), latency) for i, latency in enumerate(latencies)]
    found = find_saturation(points, 10.0)
    assert found == (None if saturation is None else pytest.approx(saturation))


@pytest.mark.slow
def test_light_traffic_takes_what_it_takes_alone() -> None:
    found = curve("neighbor", 0.02, window=3000)
    (only,) = found.points
    assert only.alone_ns == found.zero_load_ns
    assert only.alone_ns <= only.latency_ns < 1.03 * only.alone_ns
    assert only.accepted == pytest.approx(0.02, rel=0.1)
    assert only.p50_ns <= only.p99_ns <= only.max_ns
    assert found.saturation_load is None
    assert (found.warm_up_ns, found.window_ns) == (1500.0, 3000.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("topology", "pattern", "bound"),
    [
        ("mesh_8x8", "uniform", 1 / 2),  # half of all packets cross 8 links each way
        ("mesh_8x8", "bitcomp", 1 / 4),  # all packets of 4 columns cross the middle of their row
        ("mesh_8x8", "transpose", 1 / 7),  # 7 nodes of the first row turn the one corner
        ("torus_8x8", "tornado", 1 / 3),  # 3 links each, all one way round
    ],
)
def test_networks_saturate_below_the_load_of_their_busiest_link(topology: str, pattern: str, bound: float) -> None:
    found = curve(pattern, 0.7 * bound, bound, 1.3 * bound, topology=topology, window=2000, packet_flits=1)
    assert found.saturation_load is not None
    assert 0.7 * bound < found.saturation_load < 1.1 * bound
    below, _, beyond = found.points
    assert below.accepted == pytest.approx(below.load, rel=0.05)
    assert beyond.accepted < 0.97 * beyond.load


def test_what_is_accepted_has_arrived_whether_it_is_acknowledged_or_not() -> None:
    plain, acknowledged = (
        run_curve(
            load_machine("mesh_8x8", {"acknowledged": answer, "ejection_ns": 300}),
            InjectionProcess("uniform", window=400, packet_flits=2),
            [0.2],
        ).points[0]
        for answer in (False, True)
    )
    assert acknowledged.accepted == plain.accepted
    assert acknowledged.latency_ns - plain.latency_ns == pytest.approx(acknowledged.alone_ns - plain.alone_ns)
    assert acknowledged.alone_ns > plain.alone_ns + 300


def test_modes_agree_and_loads_are_put_in_order() -> None:
    seen: list[LoadPoint] = []
    machine, injection = load_machine("torus_8x8"), InjectionProcess("uniform", window=200)
    hybrid = run_curve(machine, injection, [0.5, 0.1], on_point=seen.append)
    flit = run_curve(machine, injection, [0.1, 0.5], "flit")
    assert [p.load for p in hybrid.points] == [0.1, 0.5]
    assert tuple(seen) == hybrid.points
    assert [replace(p, wall_s=0) for p in hybrid.points] == [replace(p, wall_s=0) for p in flit.points]


@pytest.mark.slow
def test_a_row_a_load_and_one_object() -> None:
    found = curve("uniform", 0.1, 0.2)
    assert found.table()["load"].to_list() == [0.1, 0.2]
    plain = found.to_dict()
    assert plain["flit_hops"] == sum(p.flit_hops for p in found.points)
    assert plain["makespan_ns"] == max(p.makespan_ns for p in found.points)
    assert plain["points"][0]["packets"] == found.points[0].packets
    assert (plain["topology"], plain["pattern"], plain["packet_flits"], plain["seed"]) == ("mesh_8x8", "uniform", 2, 0)


@pytest.mark.parametrize(
    ("load", "options", "sentence"),
    [
        (1.5, {}, "got load 1.5, expected more than 0 and at most 1, the whole bandwidth of an endpoint"),
        (0.1, {"packet_flits": 0}, "got packets of 0 flits and a window of 600 flit times, expected at least 1 and 2"),
        (
            0.1,
            {"packet_flits": 1 << 63},
            "got packets of 9,223,372,036,854,775,808 flits and a window of 600 flit times, "
            "expected at most 1,000,000 and 1,000,000,000",
        ),
        (0.1, {"window": 1}, "got packets of 2 flits and a window of 1 flit times, expected at least 1 and 2"),
        (1e-6, {}, "at load 1e-06 no packet begins in a window of 600 flit times; give a longer window"),
        (
            1,
            {"window": 10**6},
            "load 1 on mesh_8x8 makes about 64,000,000 packets, more than 5,000,000 at once; "
            "give a window shorter than 1000000 flit times",
        ),
    ],
)
def test_what_cannot_be_measured(load: float, options: dict[str, int], sentence: str) -> None:
    with pytest.raises(InputError) as error:
        curve("uniform", load, **options)
    assert str(error.value) == sentence


@pytest.mark.parametrize("flits", [1, 20])
def test_packets_alone_are_measured_where_buffers_are_finite(flits):
    """Two cycles to the first router and three for each router: the first flit; then a flit a cycle."""
    machine = load_machine("mesh_8x8_credit")
    src, dst = np.array([0, 9, 63, 0]), np.array([1, 9, 0, 8])
    found = find_alone_fs(machine, src, dst, flits)
    assert found.tolist() == [(2 + 3 * (hops + 1) + flits - 1) * 10**6 for hops in (1, 0, 14, 1)]
    assert find_alone_fs(load_machine("mesh_8x8"), src, dst, 4).tolist() == [
        9 * 10**6,
        7 * 10**6,
        35 * 10**6,
        9 * 10**6,
    ]
