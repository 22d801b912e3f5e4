"""The times of many machines at once against machines made one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench.engine.batch_times import batch_times
from kernbench.machine.variants import Variants
from kernbench.program.ops import NONE
from tests.analytic.recording import record

VARIANTS = Variants("tiny", {})
ROWS = st.lists(st.floats(0.05, 2000), min_size=3, max_size=3)  # of a field, at three points


def of(times, columns, fixed, point):
    """The times of a point: its own where they vary."""
    return np.where(columns == NONE, fixed, times.values[point, columns])


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(figures=st.dictionaries(st.sampled_from(sorted(VARIANTS.fields)), ROWS, min_size=1, max_size=6))
def test_times_are_those_of_the_machines(figures):
    program = record("matmul-composite").program
    base = program.machine
    columns = {field: np.array(values) for field, values in figures.items()}
    times = batch_times(program, base.origins(), columns)
    for point in range(3):
        machine = VARIANTS.machine({field: float(values[point]) for field, values in columns.items()})
        steps = base.routing.on(machine).tables().overhead_fs
        full, turn = machine.stations.fs_per_flit, machine.stations.turn_fs
        assert np.array_equal(times.fs_per_flit(base.stations.fs_per_flit)[point], full)
        assert np.array_equal(of(times, times.turn, base.stations.turn_fs, point), turn)
        assert np.array_equal(of(times, times.overhead, base.routing.tables().overhead_fs, point), steps)
        assert np.array_equal(
            of(times, times.duration, program.duration_fs(), point), program.on(machine).duration_fs()
        )


@pytest.mark.parametrize("gbs", [1e-300, 5e-324])
def test_a_time_beyond_counting_is_refused(gbs):
    program = record("vector-add").program
    with pytest.raises(OverflowError, match="9007199254740992 fs"):
        batch_times(program, program.machine.origins(), {"noc.gbs": np.array([100.0, gbs])})
