"""Many points at once against each by itself, to the femtosecond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench.analytic.frame import build_frame
from kernbench.analytic.moves import write_moves
from kernbench.analytic.paths import find_after
from kernbench.analytic.reach import Reach, list_works
from kernbench.machine.origins import find_origins
from tests.analytic.recording import BENCHES, record

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=BENCHES)
def frame(request):
    device = record(request.param)
    return build_frame(device.program, find_origins(device.machine))


def draw(frame, count, seed):
    """Points within a factor of a hundred around the machine as it is."""
    rng, figures = np.random.default_rng(seed), frame.machine.figures
    return {field: (figures[field] or 1.0) * 10 ** rng.uniform(-2, 2, count) for field in frame.basis.fields}


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_every_row_after_any_rows(frame, seed, data):
    places = st.integers(0, len(frame.rows.op) - 1)
    starts = data.draw(st.lists(places, unique=True, min_size=1, max_size=3))
    works = list_works(frame)
    rows = list(range(len(frame.rows.op)))
    reach = Reach(frame, works, starts, rows)
    atoms_fs = frame.basis.fs(draw(frame, 3, seed), 3)
    found = reach.times(works.fs(frame.moves, atoms_fs))
    for point in range(3):
        _, end = find_after(frame, np.array(starts), atoms_fs[point])
        for row in rows:
            at = reach.find([row])
            assert [found[i, point] for i in at] == ([end[row]] if end[row] > -(1 << 59) else [])


def test_works_are_what_nodes_take(frame):
    works = list_works(frame)
    atoms_fs = frame.basis.fs(draw(frame, 2, 1), 2)
    found = works.fs(frame.moves, atoms_fs)
    forms = np.concatenate([write_moves(frame.moves, atoms_fs[1]), frame.moves.first])
    move_fs = np.append(forms @ atoms_fs[1], 0)[frame.costs.kind]
    duration_fs = (frame.durations.amount * atoms_fs[1][frame.durations.atom])[frame.costs.duration]
    assert (found[works.of, 1] == move_fs + duration_fs).all()


def test_pes_that_do_the_same_do_it_once():
    """After the barrier, both PEs of a cube."""
    device = record("matmul-composite")
    frame = build_frame(device.program, find_origins(device.machine))
    barriers = [
        row for row in frame.rows.row.tolist() if device.program.tags[device.program.op_tag[row]][0] == "barrier"
    ]
    assert len(barriers) == 4
    one, every = (
        Reach(frame, list_works(frame), starts, frame.order.node.tolist()) for starts in (barriers[:1], barriers)
    )
    assert len(every) < 1.6 * len(one)
