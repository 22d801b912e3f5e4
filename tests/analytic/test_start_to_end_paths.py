"""Many points at once against each by itself, to the femtosecond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench.analytic.critical_path import find_after
from kernbench.analytic.model import build_frame
from kernbench.analytic.node_times import list_works
from kernbench.analytic.start_to_end_paths import Span
from kernbench.analytic.transfers import write_moves
from tests.analytic.recording import BENCHES, record

pytestmark = pytest.mark.slow


def work_fs(works, atoms_fs):
    """int64[point, work]"""
    return works.fs(atoms_fs, works.transfers_fs(atoms_fs))


@pytest.fixture(scope="module", params=BENCHES)
def frame(request):
    device = record(request.param)
    return build_frame(device.program, device.machine.origins())


def draw(frame, count, seed):
    """The times of atoms at points within a factor of a hundred around the machine as it is."""
    rng, figures = np.random.default_rng(seed), frame.machine.figures
    points = {field: (figures[field] or 1.0) * 10 ** rng.uniform(-2, 2, count) for field in frame.basis.fields}
    return frame.basis.fs(points, count)


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_every_row_after_any_rows(frame, seed, data):
    places = st.integers(0, len(frame.rows.op) - 1)
    starts = data.draw(st.lists(places, unique=True, min_size=1, max_size=3))
    several = data.draw(st.lists(places, unique=True, min_size=2, max_size=5))
    gates = [*([row] for row in range(len(frame.rows.op))), several]
    works, atoms_fs = list_works(frame), draw(frame, 3, seed)
    span = Span(frame, works, starts, gates)
    found = span.times(work_fs(works, atoms_fs))
    for point in range(3):
        _, end = find_after(frame, np.array(starts), atoms_fs[point])
        ends = np.append(end, end[several].max())
        assert (span.reached == (ends > -(1 << 59))).all()
        assert found[point].tolist() == ends[span.reached].tolist()


def test_works_are_what_nodes_take(frame):
    works = list_works(frame)
    atoms_fs = draw(frame, 2, 1)
    found = work_fs(works, atoms_fs)
    forms = np.concatenate([write_moves(frame.moves, atoms_fs[1]), frame.moves.first])
    move_fs = np.append(forms @ atoms_fs[1], 0)[frame.costs.kind]
    duration_fs = (frame.durations.amount * atoms_fs[1][frame.durations.atom])[frame.costs.duration]
    assert (found[1, works.of] == move_fs + duration_fs).all()
    assert found[:, works.nothing].tolist() == [0, 0]


def test_pes_that_do_the_same_do_it_once():
    """After the barrier, both PEs of a cube."""
    device = record("matmul-composite")
    frame = build_frame(device.program, device.machine.origins())
    tags = device.program.tags
    barriers = [row for row in frame.rows.row.tolist() if tags[device.program.op_tag[row]][0] == "barrier"]
    assert len(barriers) == 4
    works, every_row = list_works(frame), frame.rows.row.tolist()
    one, every = (Span(frame, works, starts, [every_row]) for starts in (barriers[:1], barriers))
    assert len(every) < 1.6 * len(one)
