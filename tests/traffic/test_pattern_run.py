"""The workload of a sweep's point."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernbench.errors import InputError, LimitError
from kernbench.machine import load_machine
from kernbench.traffic.curve import run_curve
from kernbench.traffic.load_point import measure_load
from kernbench.traffic.pattern_run import PatternParameters, run_pattern

SMALL = {"k": 3, "virtual_channels": 2}
GIVEN = PatternParameters("uniform", load=0.4, packet_flits=2, seed=3, window=200)


def test_a_point_has_the_figures_of_the_probe() -> None:
    found = run_pattern("mesh_8x8_credit", GIVEN, overrides=SMALL)
    probed = measure_load(load_machine("mesh_8x8_credit", SMALL), GIVEN.injection(), 0.4, "hybrid")
    same = ("latency_ns", "accepted", "packets", "alone_ns", "p50_ns", "p99_ns", "max_ns", "makespan_ns", "flit_hops")
    assert [getattr(found, name) for name in same] == [getattr(probed, name) for name in same]
    assert found.saturation_load is None
    assert found.accepted == pytest.approx(0.4, abs=0.1)


def test_a_curve_gives_the_saturation_of_the_probe() -> None:
    loads = [0.1, 0.5, 0.9]
    found = run_pattern("mesh_8x8_credit", replace(GIVEN, loads="0.5,0.1,0.9"), overrides=SMALL)
    probed = run_curve(load_machine("mesh_8x8_credit", SMALL), GIVEN.injection(), loads)
    alone = run_pattern("mesh_8x8_credit", GIVEN, overrides=SMALL)
    assert found.saturation_load == probed.saturation_load
    assert found.saturation_load is not None
    assert found.latency_ns == alone.latency_ns
    assert found.flit_hops == alone.flit_hops + sum(point.flit_hops for point in probed.points)


def test_a_load_of_the_curve_is_run_once() -> None:
    found = run_pattern("mesh_8x8_credit", replace(GIVEN, loads="0.2:0.4:0.2"), overrides=SMALL)
    probed = run_curve(load_machine("mesh_8x8_credit", SMALL), GIVEN.injection(), [0.2, 0.4])
    assert found.flit_hops == sum(point.flit_hops for point in probed.points)
    assert found.latency_ns == probed.points[1].latency_ns


def test_progress_goes_on_from_load_to_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernbench.engine.progress._EVERY_S", 0.0)
    shares: list[float] = []
    given = replace(GIVEN, loads="0.2:0.8:0.2", window=1000)
    run_pattern("mesh_8x8", given, "flit", on_progress=lambda served, known, _: shares.append(served / known))
    assert max(shares) < 1.05
    for share in (0.0, 0.2 / 2.0, 0.6 / 2.0, 1.2 / 2.0):  # what is done when each load begins
        assert min(abs(share - found) for found in shares) < 0.02


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"pattern": "unifrom"}, "unknown pattern 'unifrom'; did you mean 'uniform'?"),
        ({"load": 1.5}, "got load 1.5, expected more than 0 and at most 1, the whole bandwidth of an endpoint"),
        ({"loads": "x"}, "loads 'x' is none of 0.3, 0.1,0.2,0.3 and FIRST:LAST:STEP such as 0.05:0.6:0.05"),
        ({"window": 1}, "got packets of 4 flits and a window of 1 flit times, expected at least 1 and 2"),
    ],
)
def test_parameters_that_mean_nothing(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        PatternParameters(**{"pattern": "uniform", **given})  # type: ignore[arg-type]
    assert str(caught.value).startswith(sentence)


def test_a_time_limit_names_the_pattern() -> None:
    with pytest.raises(LimitError) as caught:
        run_pattern("mesh_8x8", replace(GIVEN, window=100_000), time_limit=0.2)
    assert str(caught.value).startswith("pattern 'uniform', simulating: it takes longer than its time limit of 0.2 s; ")
