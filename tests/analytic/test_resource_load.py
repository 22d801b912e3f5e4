"""Work against what the loop counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from kernbench.analytic.model import build_model
from kernbench.analytic.resource_load import server_load, station_load
from kernbench.analytic.transfers import write_moves
from kernbench.engine import Session
from kernbench.errors import DeadlockError
from kernbench.machine.sheets.field_provenance import no_origins
from tests.engine.strategies import programs


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck))
@given(programs())
def test_all_that_was_served_is_counted(program):
    machine = program.machine
    assume(not machine.stations.turn_fs.any())
    session = Session(program, "flit")
    session.run()
    try:
        session.check_finished()
    except DeadlockError:
        assume(False)
    model = build_model(program, no_origins(len(machine.stations.fs_per_flit)))
    busy = np.zeros(len(machine.stations.fs_per_flit))
    stations = station_load(model)
    busy[stations.at] = stations.forms[:, 0]
    assert busy.tolist() == session.station_busy_fs.tolist()
    held = server_load(model).held(write_moves(model.moves, np.ones(1)))
    assert (held.forms[:, 0] * machine.server_slots[held.at] <= session.server_busy_fs[held.at]).all()
