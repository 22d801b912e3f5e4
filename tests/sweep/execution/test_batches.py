from __future__ import annotations

from pathlib import Path

from kernbench.sweep.execution.batches import Groups, make_batches
from kernbench.sweep.plan import plan_sweep
from tests.sweep import fakes


def points(tmp_path: Path, **parameters: object):
    grid = fakes.toy_grid(tmp_path, **{name.replace("__", "."): values for name, values in parameters.items()})
    return plan_sweep(grid, tmp_path / "out").points


def test_points_that_differ_in_figures_are_one_group(tmp_path: Path) -> None:
    given = points(tmp_path, topology__noc__gbs=[100, 200], M=[1, 2], topology__hbm__channels=[4, 8])
    groups = Groups(given)
    assert [[(p.parameters["M"], p.overrides["hbm.channels"]) for p in group] for group in groups] == [
        [(1, 4)] * 2,
        [(1, 8)] * 2,
        [(2, 4)] * 2,
        [(2, 8)] * 2,
    ]
    assert [p.overrides["noc.gbs"] for p in groups[0]] == [100, 200]


def test_a_grid_of_figures_alone_is_one_group(tmp_path: Path) -> None:
    given = points(tmp_path, topology__noc__gbs=[100, 200, 300])
    assert [len(group) for group in Groups(given)] == [3]
    assert len(Groups(given[:0])) == 0


def test_batches_keep_to_one_structure(tmp_path: Path) -> None:
    given = points(tmp_path, M=[1, 2], topology__noc__gbs=[100, 200, 300], N=[2])
    made = list(make_batches(Groups(given), 2))
    assert [[p.parameters["M"] for p in batch.points] for batch in made] == [[1, 1], [1], [2, 2], [2]]
    assert [batch.alike for batch in made] == [True] * 4
    assert [batch.alike for batch in make_batches(Groups(points(tmp_path, M=[1, 2])), 2)] == [False] * 2
