"""Plots of the attention evaluation, from tables without runs."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from kernbench.errors import InputError
from kernbench.evaluation.attention import COLUMNS
from kernbench.report.figures.attention import plot_attention

BLANK = {int: 1, float: 1.0, str: "x", bool: None}


def table(*rows: dict[str, object]) -> polars.DataFrame:
    blank = {name: BLANK[kind] for name, kind in COLUMNS.items()}
    return polars.DataFrame([{**blank, **row} for row in rows], schema=COLUMNS)


SOME = table(
    *(
        {
            "phase": phase,
            "users": users,
            "kv_heads": groups,
            "latency_ns": 1000.0 * users * groups,
            "tokens_per_us": users / groups,
        }
        for phase in ("prefill", "decode")
        for groups in (2, 4)
        for users in (4, 1)
    )
)


@pytest.mark.slow
def test_figures_show_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.figure

    kept: list[matplotlib.figure.Figure] = []
    monkeypatch.setattr(
        matplotlib.figure.Figure, "savefig", lambda figure, path, **_: kept.append(figure) or path.touch()
    )
    plot_attention(SOME, tmp_path)
    throughput, _, latency, _ = kept
    assert [axes.get_title(loc="left") for axes in throughput.axes] == ["prefill", "decode"]
    assert [line.get_ydata().tolist() for line in throughput.axes[0].lines] == [[0.5, 2], [0.25, 1]]
    assert [line.get_xydata().tolist() for line in latency.axes[1].lines] == [
        [[1, 2000], [4, 8000]],
        [[1, 4000], [4, 16000]],
    ]
    assert [line.get_label() for line in latency.axes[1].lines] == ["1, 2", "1, 4"]


@pytest.mark.slow
def test_the_same_bytes_for_the_same_table(tmp_path: Path) -> None:
    first, second = plot_attention(SOME, tmp_path / "a"), plot_attention(SOME, tmp_path / "b")
    assert [path.name for path in first] == ["throughput.svg", "throughput.png", "latency.svg", "latency.png"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_table_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        plot_attention(polars.DataFrame({"users": [1]}), tmp_path)
    assert str(error.value) == (
        "the table of the attention evaluation lacks the column 'topology'; run `kernbench evaluate attention` again"
    )
    with pytest.raises(InputError, match=r"lacks rows; run"):
        plot_attention(SOME.clear(), tmp_path)
