"""Plot of the evaluation of matrix products on chips, from its table alone: simulated over published cycles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.evaluation.chip_gemm import COLUMNS
from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.evaluation_table import check_table
from kernbench.report.figures.ticks import scale
from kernbench.report.tables.engineering import PLAIN, named

if TYPE_CHECKING:
    import polars


def plot_chip_gemm(table: polars.DataFrame, directory: Path) -> list[Path]:
    """Draw `error` as SVG and PNG into a directory; returns their paths.

    The bytes depend on the table alone. Errors: InputError for a table that no run gives, or if the directory cannot be
    written.
    """
    check_table(table, COLUMNS, "chip GEMM", "chip-gemm")
    with style.look():
        figure = style.new_figure(style.LOWEST)
        axes = figure.subplots()
        rows = table.to_dicts()
        groups = [f"{row['chip']} {row['dtype']} {row['fidelity']}, {row['program']}" for row in rows]
        palette = colours.of_names(groups)
        for number, group in enumerate(dict.fromkeys(groups)):
            own = [row for row, name in zip(rows, groups, strict=True) if name == group]
            axes.plot(
                [row["device_cycles"] for row in own],
                [100 * row["error"] for row in own],
                style.MARKERS[number % len(style.MARKERS)],
                color=palette[group],
                label=group,
            )
        axes.axhline(0, color=colours.INK, linewidth=0.8)
        shown = named("published cycles", PLAIN, table["device_cycles"])
        scale(axes, "x", shown, table["device_cycles"].to_list(), swept=False)
        axes.set_xlabel(shown.title)
        axes.set_ylabel("simulated, above published cycles (%)")
        style.legend(figure, *axes.get_legend_handles_labels(), "")
        style.head(figure, "Simulated against published cycles of matrix products")
        return style.save(figure, directory / "error")
