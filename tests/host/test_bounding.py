"""Benches that are bounded: what is reported, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench import DPPolicy, InputError, bench, run

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
