"""Benches that are bounded: what is reported, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench import DPPolicy, InputError, bench, run
from kernbench.errors import RunError
from kernbench.machine.variants import Variants
from kernbench.runs.bench import find_bench
from kernbench.runs.bounds import LaunchBoundModel
from kernbench.runs.recording import record
from tests.analytic.recording import BENCHES

pytestmark = pytest.mark.slow

ONE = DPPolicy(num_cubes=1, num_pes=1)


def double(x, y, tl) -> None:
    tl.store(y, tl.load(x, (64, 64)) * 2)


@bench("double", "Twice a matrix, and once more")
def doubling(torch):
    x, y = torch.from_numpy(np.ones((64, 64), np.float16), dp=ONE), torch.empty((64, 64), dp=ONE, name="y")
    torch.launch("double", double, x, y)
    torch.synchronize()
    torch.launch("double", double, y, x)


@bench("look", "Look at a tensor")
def looking(torch):
    torch.ones((3, 4)).numpy()


@bench("copy", "Copy only")
def copying(torch):
    torch.from_numpy(np.ones((64, 64), np.float16), dp=ONE)


@pytest.mark.parametrize("function", [doubling, copying])
def test_every_time_is_bounded(function) -> None:
    bounds, exact = run(function, "tiny", mode="analytic"), run(function, "tiny")
    assert bounds.upper_ns is not None
    for name in ("latency_ns", "pe_exec_ns", "makespan_ns"):
        assert 0.9 * getattr(exact, name) <= getattr(bounds, name) <= getattr(exact, name) < bounds.upper_ns
    for name in ("achieved_tflops", "achieved_gbs"):
        most = getattr(bounds, name)
        assert most is None or most >= getattr(exact, name)
    assert bounds.lower_ns == bounds.latency_ns
    assert bounds.binding == "critical path"  # messages, on nobody's server
    assert (bounds.events, bounds.flit_hops, bounds.bottleneck, bounds.verified) == (0, 0, None, None)
    assert (exact.lower_ns, exact.upper_ns, exact.binding) == (None, None, None)


def refusal(function, **options) -> str:
    with pytest.raises(InputError) as caught:
        run(function, "tiny", mode="analytic", **options)
    return str(caught.value)


def test_what_needs_events_or_numbers_is_refused() -> None:
    assert refusal(doubling, live=True) == (
        "analytic mode has no events, so it cannot run kernels live; use mode hybrid, or record the kernels"
    )
    assert refusal(doubling, verify=True) == "analytic mode computes no numbers that could be verified; use mode hybrid"
    assert refusal(looking) == (
        "analytic mode computes no numbers, but the bench reads those of a tensor of shape (3, 4); use mode hybrid"
    )
    with pytest.raises(InputError) as caught:
        run(doubling, "tiny", mode="analytic").op_log()
    assert str(caught.value) == "analytic mode has no events, so it keeps no op log; use mode hybrid"


def test_an_unknown_mode() -> None:
    with pytest.raises(InputError) as caught:
        run(doubling, "tiny", mode="analytc")
    assert str(caught.value) == ("unknown mode 'analytc'; did you mean 'analytic'? Known: analytic, flit, hybrid")


FIGURES = sorted(Variants("tiny", {}).fields)


@pytest.mark.parametrize("name", BENCHES)
@settings(max_examples=6, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(FIGURES), st.floats(0.05, 2000), max_size=5), min_size=1, max_size=4))
def test_a_model_of_many_points_says_what_runs_say(name, points) -> None:
    variants = Variants("tiny", {})
    recording = record(find_bench(name), variants.base, BENCHES[name], [0])
    model = LaunchBoundModel(recording.program, recording.launches)
    values = {
        field: np.array([point.get(field, base) for point in points], float) for field, base in model.figures.items()
    }
    found = model.evaluate(values, len(points))
    for at, point in enumerate(points):
        alone = run(name, "tiny", mode="analytic", parameters=BENCHES[name], overrides=point)
        assert {column: found[column][at] for column in found} == {column: getattr(alone, column) for column in found}


@pytest.mark.parametrize("name", [*BENCHES, "attention-prefill"])
@settings(max_examples=6, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(FIGURES), st.floats(0.5, 500), max_size=5), min_size=1, max_size=3))
def test_with_queues_bounds_are_closer_and_hold(name, points) -> None:
    variants = Variants("tiny", {})
    parameters = BENCHES.get(name, {"users": 1, "tokens": 64, "heads": 8, "kv_heads": 1, "tile": 16})
    recording = record(find_bench(name), variants.base, parameters, [0])
    model = LaunchBoundModel(recording.program, recording.launches)
    values = {
        field: np.array([point.get(field, base) for point in points], float) for field, base in model.figures.items()
    }
    paths, queues = (model.evaluate(values, len(points), queues=queues) for queues in (False, True))
    for at, point in enumerate(points):
        exact = recording.list_metrics(variants.machine(point), "hybrid")
        for column in ("latency_ns", "pe_exec_ns"):
            assert paths[column][at] <= queues[column][at] <= exact[column] <= queues["upper_ns"][at]
        assert paths["upper_ns"][at] == queues["upper_ns"][at]


def test_more_points_than_are_worked_on_at_once() -> None:
    variants = Variants("tiny", {})
    recording = record(find_bench("vector-add"), variants.base, {}, [0])
    model = LaunchBoundModel(recording.program, recording.launches)
    gbs = np.linspace(1, 200, 20_001)
    found = model.evaluate({"hbm.channel_gbs": gbs}, len(gbs))
    for at in (0, 8191, 8192, 20_000):
        one = model.evaluate({"hbm.channel_gbs": gbs[at : at + 1]}, 1)
        assert {name: times[at] for name, times in found.items()} == {name: times[0] for name, times in one.items()}
    assert (np.diff(found["latency_ns"]) <= 0).all()


@bench("slow", "Busy for seconds, on all PEs")
def being_busy(torch, cycles=3 * 10**12):
    torch.launch("spin", lambda n, tl: tl.cycles(n), cycles)


def test_times_of_many_points_that_no_clock_counts() -> None:
    base = Variants("tiny", {}).base
    recording = record(find_bench(being_busy), base, {"cycles": 3 * 10**12}, [0])
    model = LaunchBoundModel(recording.program, recording.launches)
    found = model.evaluate({"pe_cpu.clock_ghz": np.array([1.0, 2.0])}, 2)
    pes = base.places.cubes_per_sip * base.places.pes_per_cube
    assert found["upper_ns"] == pytest.approx([pes * 3e12, pes * 1.5e12])
    assert found["upper_ns"][0] > np.iinfo(np.int64).max / 1e6
    for clock in (0.25, 0.6):
        with pytest.raises(RunError, match=r"^the run takes [0-9,.]+ ns or more, beyond 4,611 s of simulated time"):
            model.evaluate({"pe_cpu.clock_ghz": np.array([1.0, clock])}, 2)


def test_a_model_needs_a_launch() -> None:
    base = Variants("tiny", {}).base
    recording = record(find_bench(copying), base, {}, [0])
    with pytest.raises(InputError) as caught:
        LaunchBoundModel(recording.program, recording.launches)
    assert str(caught.value) == "a program without a launch has no latency to bound for many points; bound it by itself"
