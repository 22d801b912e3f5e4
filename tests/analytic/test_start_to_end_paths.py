"""Many points at once against each by itself, to the femtosecond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench.analytic.critical_path import find_after
from kernbench.analytic.model import build_model
from kernbench.analytic.node_times import list_node_times
from kernbench.analytic.start_to_end_paths import StartToEndPaths
from kernbench.analytic.transfers import write_moves
from tests.analytic.recording import BENCHES, record

pytestmark = pytest.mark.slow


def work_fs(node_times, atoms_fs):
    """int64[point, work]"""
    return node_times.fs(atoms_fs, node_times.transfers_fs(atoms_fs))


@pytest.fixture(scope="module", params=BENCHES)
def model(request):
    device = record(request.param)
    return build_model(device.program, device.machine.origins())


def draw(model, count, seed):
    """The times of atoms at points within a factor of a hundred around the machine as it is."""
    rng, figures = np.random.default_rng(seed), model.machine.figures
    points = {field: (figures[field] or 1.0) * 10 ** rng.uniform(-2, 2, count) for field in model.basis.fields}
    return model.basis.fs(points, count)


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_every_row_after_any_rows(model, seed, data):
    places = st.integers(0, len(model.rows.op) - 1)
    starts = data.draw(st.lists(places, unique=True, min_size=1, max_size=3))
    several = data.draw(st.lists(places, unique=True, min_size=2, max_size=5))
    gates = [*([row] for row in range(len(model.rows.op))), several]
    node_times, atoms_fs = list_node_times(model), draw(model, 3, seed)
    paths = StartToEndPaths(model, node_times, starts, gates)
    found = paths.times(work_fs(node_times, atoms_fs))
    for point in range(3):
        _, end = find_after(model, np.array(starts), atoms_fs[point])
        ends = np.append(end, end[several].max())
        assert (paths.reached == (ends > -(1 << 59))).all()
        assert found[point].tolist() == ends[paths.reached].tolist()


def test_works_are_what_nodes_take(model):
    node_times = list_node_times(model)
    atoms_fs = draw(model, 2, 1)
    found = work_fs(node_times, atoms_fs)
    forms = np.concatenate([write_moves(model.moves, atoms_fs[1]), model.moves.first])
    move_fs = np.append(forms @ atoms_fs[1], 0)[model.costs.kind]
    duration_fs = (model.durations.amount * atoms_fs[1][model.durations.atom])[model.costs.duration]
    assert (found[1, node_times.of] == move_fs + duration_fs).all()
    assert found[:, node_times.nothing].tolist() == [0, 0]


def test_pes_that_do_the_same_do_it_once():
    """After the barrier, both PEs of a cube."""
    device = record("matmul-composite")
    model = build_model(device.program, device.machine.origins())
    tags = device.program.tags
    barriers = [row for row in model.rows.row.tolist() if tags[device.program.op_tag[row]][0] == "barrier"]
    assert len(barriers) == 4
    node_times, every_row = list_node_times(model), model.rows.row.tolist()
    one, every = (StartToEndPaths(model, node_times, starts, [every_row]) for starts in (barriers[:1], barriers))
    assert len(every) < 1.6 * len(one)
