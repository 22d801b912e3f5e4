"""Bounds against the clock: below and above what the loop says, for any program that ends."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, event, given, settings

from kernbench.analytic import bounds
from kernbench.engine import Session
from kernbench.errors import DeadlockError
from tests.analytic.recording import BENCHES, named, record
from tests.engine.strategies import programs


@pytest.mark.slow
@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(programs())
def test_bounds_hold(program):
    session = Session(named(program), "flit")
    session.run()
    try:
        session.check_finished()
    except DeadlockError:
        assume(False)
    found = bounds(program)
    event(f"binding {found.binding.split(maxsplit=1)[0]}")
    event("tight" if found.lower_fs == session.now_fs else "loose")
    assert found.lower_fs <= session.now_fs <= found.upper_fs


@pytest.mark.slow
@pytest.mark.parametrize("bench", BENCHES)
def test_bounds_of_shipped_benches(bench):
    device = record(bench)
    device.run()
    found = bounds(device.program)
    assert 0.99 * device.session.now_fs <= found.lower_fs <= device.session.now_fs <= found.upper_fs
    assert found.binding.startswith("critical path")
