"""Schedule files: what they say, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.pto.tasks.graph import load_graph, read_graph, spread_us


def graph(*tasks, **more):
    return read_graph(
        {"tasks": [{"id": at, "core": "aic", "duration_us": 1, **task} for at, task in enumerate(tasks)], **more}, "g"
    )


def test_blocks_have_the_times_that_are_listed_or_one_for_all():
    read = graph({"duration_us": [1, 2.5]}, {"blocks": 3, "duration_us": 4})
    assert [task.block_ns for task in read.tasks] == [(1000, 2500), (4000, 4000, 4000)]
    assert read.machine == "ascend_910b2"


@pytest.mark.parametrize("count", [2, 5, 50, 1000])
@pytest.mark.parametrize("p90", [None, 12.0])
def test_spread_times_have_the_mean_and_stay_within_the_extremes(count, p90):
    found = np.array(spread_us(8.0, 4.0, 20.0, p90, count))
    assert found.mean() == pytest.approx(8.0, abs=0.2)
    assert found.min() >= 4
    assert found.max() <= 20
    assert np.ptp(found) > 1
    if p90 and count >= 50:
        assert np.quantile(found, 0.9) == pytest.approx(p90, rel=0.1)


def test_producers_come_first_whatever_the_order_of_the_file():
    read = graph({"deps": [2]}, {"deps": [0]}, {})
    assert [task.id for task in read.tasks] == [2, 0, 1]


@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        ([], "g: expected an object with a list of tasks; see docs/pto.md for the schedule file"),
        (
            {"tasks": [], "machine": "x"},
            "g: expected an object with a list of tasks; see docs/pto.md for the schedule file",
        ),
        ({"tasks": [1]}, "g: task 0: got 1, expected an object with id, name, core, blocks, duration_us, deps"),
        (
            {"tasks": [{"id": 3, "core": "aic"}]},
            "g: task 0: duration_us: missing; give id, name, core, blocks, duration_us, deps",
        ),
        (
            {"tasks": [{"id": 0, "core": "aix", "duration_us": 1}]},
            "g: task 0 (id 0): core: got 'aix', expected one of aic, aiv, aiv2, mix",
        ),
        (
            {"tasks": [{"id": 0, "core": ["aic"], "duration_us": 1}]},
            "g: task 0 (id 0): core: got \"['aic']\", expected one of aic, aiv, aiv2, mix",
        ),
        (
            {"tasks": [{"id": 0, "core": "aic", "duration_us": [1, 2], "blocks": 3}]},
            "g: task 0 (id 0): duration_us: got 2 times for 3 blocks; give one for each block",
        ),
        (
            {"tasks": [{"id": 0, "core": "aic", "duration_us": {"mean": 1, "min": 2}}]},
            "g: task 0 (id 0): duration_us: min, mean, p90 and max are out of order: {'mean': 1, 'min': 2}; "
            "expected min <= mean, p90 <= max",
        ),
        (
            {"tasks": [{"id": 0, "core": "aic", "duration_us": -1}]},
            "g: task 0 (id 0): duration_us: got -1, expected a time in microseconds of 0 or more",
        ),
        (
            {"tasks": [{"id": 0, "core": "aic", "duration_us": 1, "dep": []}]},
            "g: task 0: unknown key 'dep'; did you mean 'deps'? Known: blocks, core, deps, duration_us, id, name",
        ),
    ],
)
def test_what_is_no_graph_is_refused(held, sentence):
    with pytest.raises(InputError) as error:
        read_graph(held, "g")
    assert str(error.value) == sentence


def test_unknown_and_repeated_ids_and_cycles_are_named():
    for tasks, sentence in [
        (({"deps": [7]},), "g: task 0 depends on task 7, which is not in the graph"),
        (({"id": 4}, {"id": 4}), "g: two tasks have id 4; give each its own"),
        (
            ({"deps": [1]}, {"deps": [0]}),
            "g: tasks wait for each other: 0 -> 1 -> 0; take one of these dependencies away",
        ),
    ]:
        with pytest.raises(InputError) as error:
            graph(*tasks)
        assert str(error.value) == sentence


def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"cannot read graph no\.json: No such file"):
        load_graph(tmp_path / "no.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(InputError, match=r"bad\.json: not JSON"):
        load_graph(tmp_path / "bad.json")
    (tmp_path / "good.json").write_text(json.dumps({"tasks": [{"id": 0, "core": "aiv", "duration_us": 2}]}))
    assert load_graph(tmp_path / "good.json").tasks[0].name == "task0"
