"""The all-reduce evaluation: its table, and what must hold of it."""

from __future__ import annotations

import polars
import pytest

from kernbench.errors import InputError
from kernbench.evaluation import allreduce
from kernbench.evaluation.allreduce import COLUMNS, evaluate_allreduce, find_violations, list_cases


def row(**given: object) -> dict[str, object]:
    return {
        "topology": "tiny",
        "n_sips": 2,
        "sip_topology": "ring_1d",
        "algorithm": "ring",
        "module": "ring_allreduce",
        "root": "centre",
        "buffer_kind": "tcm",
        "slot_bytes": 4096,
        "piece_bytes": 4096,
        "participants": 4,
        "bytes_per_pe": 64,
        "dtype": "f16",
        "latency_ns": 100.0,
        "algbw_gbs": 0.64,
        "busbw_gbs": 0.96,
        "task_bound_ns": 40.0,
        "times_task_bound": 2.5,
        "bound_ns": 50.0,
        "times_bound": 2.0,
        "verified": None,
        **given,
    }


def table(*rows: dict[str, object]) -> polars.DataFrame:
    return polars.DataFrame(list(rows), schema=COLUMNS)


def test_the_cases_are_every_kind_on_every_topology_and_each_root_and_algorithm() -> None:
    cases = list(list_cases(allreduce.SIZES))
    assert len(cases) == len(allreduce.SIZES) * (3 * 4 + 4 + 3)
    assert max(allreduce.SIZES) >= 98304
    assert len({tuple(case.items()) for case in cases}) == len(cases)


@pytest.mark.slow
def test_a_small_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allreduce, "SIZES", (64, 5000))
    heard: list[object] = []
    found = evaluate_allreduce("tiny", n_sips=4, dtype="f32", verify=True, on_row=heard.append)
    assert found.columns == list(COLUMNS)
    assert len(heard) == found.height == 38
    chosen = found.filter(algorithm="auto")
    assert chosen.height == 6
    assert set(found.filter(module="ring_2d_allreduce", algorithm="ring_2d")["slot_bytes"]) == {4096}
    assert set(chosen["slot_bytes"]) == {65536, 131072}  # along the grid, and of an own wiring
    assert found["verified"].all()
    assert set(found["participants"]) == {8}
    assert find_violations(found) == []


def test_six_sips_are_two_by_three_and_five_are_no_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allreduce, "SIZES", (64,))
    with pytest.raises(InputError) as error:
        evaluate_allreduce("tiny", n_sips=5)
    assert str(error.value) == (
        "5 SIPs make no grid of two rows or more for topology 'torus_2d'; "
        "give sips_w and sips_h, another number of SIPs, or ring_1d"
    )


def test_what_must_hold() -> None:
    assert find_violations(table(row(), row(buffer_kind="hbm", latency_ns=101.0), row(root="corner"))) == []
    assert find_violations(table(row(), row(buffer_kind="hbm", latency_ns=99.0))) == [
        "ring on ring_1d at 64 bytes: slots in hbm take 99.0 ns, in tcm 100.0 ns"
    ]
    assert find_violations(table(row(), row(root="corner", latency_ns=99.0))) == [
        "ring on ring_1d at 64 bytes: a root in the corner takes 99.0 ns, in the centre 100.0 ns"
    ]
    large = {"bytes_per_pe": 98304}
    assert find_violations(table(row(**large), row(root="corner", latency_ns=99.0, **large))) == []
    assert find_violations(table(row(bound_ns=100.5))) == [
        "ring on ring_1d at 64 bytes takes 100.0 ns, less than its bound of 100.5 ns"
    ]
    assert find_violations(table(row(bound_ns=None))) == []
    assert find_violations(table(row(task_bound_ns=101.0))) == [
        "ring on ring_1d at 64 bytes takes 100.0 ns, less than the task's bound of 101.0 ns"
    ]
    assert find_violations(table(row(), row(algorithm="auto", latency_ns=105.0))) == []
    assert find_violations(table(row(), row(algorithm="auto", latency_ns=106.0))) == [
        "auto on ring_1d at 64 bytes takes 106.0 ns, ring 100.0 ns"
    ]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_sips": 5}, r"^5 SIPs make no grid of two rows or more for topology 'torus_2d'; give sips_w and sips_h, "),
        (
            {"n_sips": 6, "sips_w": 4},
            r"^6 SIPs do not make a grid of a width of 4; give sips_w and sips_h whose product ",
        ),
    ],
)
def test_an_impossible_grid_is_refused_before_anything_runs(settings: dict[str, int], sentence: str) -> None:
    rows: list[object] = []
    with pytest.raises(InputError, match=sentence):
        evaluate_allreduce("tiny", **settings, on_row=rows.append)
    assert not rows
