"""The compiled loop against the reference interpreter, bit for bit."""

import pytest
from hypothesis import HealthCheck, given, settings

from kernbench.engine import Session
from tests.engine.strategies import programs
from tests.naive.engine import NaiveEngine


def assert_same(session: Session, naive: NaiveEngine) -> None:
    assert session.op_issue_fs.tolist() == naive.issue
    assert session.op_start_fs.tolist() == naive.start
    assert session.op_end_fs.tolist() == naive.end
    assert session.counter_value.tolist() == naive.counter
    assert session.station_busy_fs.tolist() == naive.station_busy
    assert session.station_flits.tolist() == naive.station_flits
    assert session.server_busy_fs.tolist() == naive.server_busy
    assert (session.events, session.flit_hops) == (naive.events, naive.flit_hops)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs())
def test_the_loop_equals_the_interpreter(program):
    session = Session(program)
    session.run()
    assert_same(session, NaiveEngine(program).run())
