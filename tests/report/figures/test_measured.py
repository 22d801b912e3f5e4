"""The plot of the evaluation of matrix products on chips, from tables without runs."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from kernbench.errors import InputError
from kernbench.evaluation.chip_gemm import COLUMNS
from kernbench.report.figures.measured import plot_chip_gemm

BLANK = {int: 1, float: 1.0, str: "x", bool: None}
BLANK_ROW = {name: BLANK[kind] for name, kind in COLUMNS.items()}
TWO = polars.DataFrame(
    [
        {**BLANK_ROW, "fidelity": "hifi2", "device_cycles": 1000, "error": -0.2},
        {**BLANK_ROW, "fidelity": "hifi4", "device_cycles": 20000, "error": 0.1},
    ],
    schema=COLUMNS,
)


@pytest.mark.slow
def test_the_figure_shows_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.figure

    kept = list[matplotlib.figure.Figure]()
    monkeypatch.setattr(
        matplotlib.figure.Figure, "savefig", lambda figure, path, **_: kept.append(figure) or path.touch()
    )
    assert [path.name for path in plot_chip_gemm(TWO, tmp_path)] == ["error.svg", "error.png"]
    first, second, _ = kept[0].axes[0].lines
    assert (list(first.get_xdata()), list(first.get_ydata())) == ([1000], [-20])
    assert (list(second.get_xdata()), list(second.get_ydata())) == ([20000], [10])


@pytest.mark.slow
def test_the_same_bytes_for_the_same_table(tmp_path: Path) -> None:
    first, second = plot_chip_gemm(TWO, tmp_path / "a"), plot_chip_gemm(TWO, tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_table_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        plot_chip_gemm(TWO.drop("error"), tmp_path)
    assert str(raised.value) == (
        "the table of the chip GEMM evaluation lacks the column 'error'; run `kernbench evaluate chip-gemm` again"
    )
