"""Plots of the GEMM evaluation, from tables without runs."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from kernbench.errors import InputError
from kernbench.evaluation.gemm import COLUMNS
from kernbench.report.figures.gemm import plot_gemm

BLANK = {int: 1, float: 1.0, str: "x", bool: None}


def table(*rows: dict[str, object]) -> polars.DataFrame:
    blank = {name: BLANK[kind] for name, kind in COLUMNS.items()}
    return polars.DataFrame([{**blank, **row} for row in rows], schema=COLUMNS)


TWO = table(
    {"M": 32, "variant": "ref_ref", "pe_exec_ns": 100.0, "efficiency": 0.25, "gemm_busy_ns": 40.0},
    {"M": 32, "variant": "load_load", "pe_exec_ns": 50.0, "efficiency": 0.5, "gemm_busy_ns": 40.0},
    {"M": 64, "variant": "ref_ref", "pe_exec_ns": 200.0, "efficiency": 0.3, "gemm_busy_ns": 90.0},
    {"M": 64, "variant": "load_load", "pe_exec_ns": 90.0, "efficiency": 0.7, "gemm_busy_ns": 90.0},
)


@pytest.mark.slow
def test_figures_show_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.figure

    kept: dict[str, matplotlib.figure.Figure] = {}
    monkeypatch.setattr(
        matplotlib.figure.Figure,
        "savefig",
        lambda figure, path, **_: kept.setdefault(path.suffix + str(len(kept)), figure) and path.touch(),
    )
    plot_gemm(TWO, tmp_path)
    efficiency, _, time, _, stages, _ = kept.values()
    assert [bar.get_height() for bar in efficiency.axes[0].patches] == [25, 30, 50, 70]
    assert [label.get_text() for label in efficiency.axes[0].get_xticklabels()] == ["32 × 1 × 1", "64 × 1 × 1"]
    assert [line.get_ydata().tolist() for line in time.axes[0].lines] == [[100, 200], [50, 90]]
    assert [axes.get_title(loc="left") for axes in stages.axes] == ["ref_ref", "load_load"]
    assert [text.get_text() for text in stages.axes[1].texts] == ["2", "2", "80", "2", "2", "1", "1", "100", "1", "1"]


@pytest.mark.slow
def test_the_same_bytes_for_the_same_table(tmp_path: Path) -> None:
    first, second = plot_gemm(TWO, tmp_path / "a"), plot_gemm(TWO, tmp_path / "b")
    assert [path.name for path in first] == [
        f"{n}.{s}" for n in ("efficiency", "time", "stages") for s in ("svg", "png")
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_table_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        plot_gemm(polars.DataFrame({"M": [1]}), tmp_path)
    assert str(error.value) == (
        "the table of the GEMM evaluation lacks the column 'topology'; run `kernbench evaluate gemm` again"
    )
    with pytest.raises(InputError, match=r"lacks rows; run"):
        plot_gemm(TWO.clear(), tmp_path)


@pytest.mark.parametrize(
    ("column", "value"),
    [("pe_exec_ns", None), ("pe_exec_ns", 0.0), ("gemm_busy_ns", float("nan")), ("efficiency", -1.0), ("M", "many")],
)
def test_a_table_with_a_value_that_no_run_gives(column: str, value: object, tmp_path: Path) -> None:
    told = rf"^the table of the GEMM evaluation has {value!r} in the column '{column}'; run `kernbench evaluate gemm` again$"
    with pytest.raises(InputError, match=told):
        plot_gemm(TWO.with_columns(polars.lit(value).alias(column)), tmp_path)
    assert list(tmp_path.iterdir()) == []
