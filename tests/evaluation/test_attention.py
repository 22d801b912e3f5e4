"""The attention evaluation."""

from __future__ import annotations

import polars
import pytest

from kernbench import InputError, run
from kernbench.evaluation import attention
from kernbench.evaluation.attention import COLUMNS, PHASES, evaluate_attention


def test_both_phases_for_one_user_and_for_many() -> None:
    assert list(PHASES) == ["prefill", "decode"]
    assert all(users[0] == 1 and len(users) > 1 for _, users, _ in PHASES.values())


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        attention, "PHASES", {"prefill": ("tokens", (1, 2), (16,)), "decode": ("context", (1, 2), (64,))}
    )


def test_a_row_is_a_run(few: None) -> None:
    heard: list[object] = []
    table = evaluate_attention("tiny", heads=4, kv_heads=2, head_dim=16, verify=True, on_row=heard.append)
    assert table.schema == polars.Schema(COLUMNS)
    assert len(heard) == table.height
    assert table.select("phase", "users", "length", "kv_heads").rows() == [
        (phase, users, length, kv_heads)
        for phase, length in (("prefill", 16), ("decode", 64))
        for kv_heads in (2, 4)
        for users in (1, 2)
    ]
    assert table["verified"].to_list() == [True] * 8
    parameters = {"users": 2, "context": 64, "heads": 4, "kv_heads": 2, "head_dim": 16}
    alone = run("attention-decode", "tiny", parameters=parameters)
    row = table.row(5, named=True)
    assert (row["latency_ns"], row["bottleneck"]) == (alone.latency_ns, alone.bottleneck)
    assert row["tokens_per_us"] == pytest.approx(2000 / alone.latency_ns)
    first = table.row(0, named=True)
    assert first["tokens_per_us"] == pytest.approx(16_000 / first["latency_ns"])


def test_without_groups_each_point_runs_once(few: None) -> None:
    table = evaluate_attention("tiny", heads=2, kv_heads=2, head_dim=8)
    assert table.height == 4
    assert table["verified"].null_count() == 4


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(InputError) as error:
        evaluate_attention("tiny", heads=6, kv_heads=4)
    assert str(error.value) == ("attention-prefill got heads=6 and kv_heads=4; heads must be a multiple of kv_heads")
