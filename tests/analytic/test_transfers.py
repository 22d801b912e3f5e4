"""Transfers that meet nobody: the bound is the time, where flits are full and no memory is striped."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernbench.analytic import bounds
from kernbench.engine import Session
from kernbench.program.program import Program
from tests.analytic.recording import named
from tests.engine.strategies import machines

pytestmark = pytest.mark.slow


def one_move(machine, route, nbytes):
    """The bound and the time of a single transfer."""
    program = Program(machine)
    program.thread("t").move(route, nbytes, lead=program.duration(("fs", 3)))
    session = Session(named(program), "flit")
    session.run()
    return bounds(program).lower_fs, session.now_fs


@settings(suppress_health_check=list(HealthCheck))
@given(machines(), st.sampled_from([0, 64, 128, 640]))
def test_messages_of_full_flits_are_exact(machine, nbytes):
    for route, (kind, *_) in enumerate(machine.routing.routes):
        lower, time = one_move(machine, route, nbytes)
        assert lower == time if kind == "message" else lower <= time


@settings(suppress_health_check=list(HealthCheck))
@given(machines(), st.sampled_from([1, 63, 65, 200, 700]))
def test_partial_flits_and_striped_memories_are_bounded(machine, nbytes):
    for route in range(len(machine.routing.routes)):
        lower, time = one_move(machine, route, nbytes)
        assert lower <= time
