"""Plots of the evaluations that have measured times beside simulated ones, from their tables alone: the error of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.evaluation import chip_gemm, chip_networks, chips, noc, tpu
from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.evaluation_table import check_table
from kernbench.report.figures.ticks import scale
from kernbench.report.tables.engineering import PLAIN, named

if TYPE_CHECKING:
    import polars


def plot_chip_gemm(table: polars.DataFrame, directory: Path) -> list[Path]:
    """Draw `error` of products on chips, against published cycles. As `plot_errors`."""
    check_table(table, chip_gemm.COLUMNS, "chip GEMM", "chip-gemm")
    groups = [f"{row['chip']} {row['dtype']} {row['fidelity']}, {row['program']}" for row in table.to_dicts()]
    return plot_errors(table, directory, groups, "device_cycles", "published cycles", "of matrix products")


def plot_chips(table: polars.DataFrame, directory: Path) -> list[Path]:
    """Draw `error` of operations on chips, against measured times. As `plot_errors`."""
    check_table(table, chips.COLUMNS, "chips", "chips")
    return plot_errors(table, directory, table["operation"].to_list(), "measured_ns", "measured time", "of operations")


def plot_chip_networks(table: polars.DataFrame, directory: Path) -> list[Path]:
    """Draw `error` of steps of networks on chips, against measured times. As `plot_errors`."""
    check_table(table, chip_networks.COLUMNS, "chip networks", "chip-networks")
    groups = [f"{row['network']}, {row['phase']}" for row in table.to_dicts()]
    return plot_errors(table, directory, groups, "measured_ns", "measured time", "of a step")


def plot_noc(table: polars.DataFrame, directory: Path) -> list[Path]:
    """Draw `error` of cases of a chip's networks, against measured cycles. As `plot_errors`."""
    check_table(table, noc.COLUMNS, "NoC", "noc")
    return plot_errors(table, directory, table["pattern"].to_list(), "measured_cycles", "measured cycles", "of cases")


def plot_tpu(table: polars.DataFrame, directory: Path) -> list[Path]:
    """Draw `error` of layers on a systolic machine, against measured times. As `plot_errors`."""
    check_table(table, tpu.COLUMNS, "TPU", "tpu")
    return plot_errors(table, directory, table["layer"].to_list(), "measured_ns", "measured time", "of layers")


def plot_errors(
    table: polars.DataFrame, directory: Path, groups: Sequence[str], column: str, title: str, what: str
) -> list[Path]:
    """Draw `error` as SVG and PNG into a directory, a colour for each of `groups` (one a row); returns their paths.

    `column` has the measured values, whose name is `title`. The bytes depend on the table alone.
    Errors: InputError if the directory cannot be written.
    """
    with style.look():
        figure = style.new_figure(style.LOWEST)
        axes = figure.subplots()
        rows: Sequence[Mapping[str, float]] = table.select(column, "error").to_dicts()
        palette = colours.of_names(groups)
        for number, group in enumerate(dict.fromkeys(groups)):
            own = [row for row, name in zip(rows, groups, strict=True) if name == group]
            axes.plot(
                [row[column] for row in own],
                [100 * row["error"] for row in own],
                style.MARKERS[number % len(style.MARKERS)],
                color=palette[group],
                label=group,
            )
        axes.axhline(0, color=colours.INK, linewidth=0.8)
        shown = named(title, "ns" if column.endswith("_ns") else PLAIN, table[column])
        scale(axes, "x", shown, table[column].to_list(), swept=False)
        axes.set_xlabel(shown.title)
        axes.set_ylabel(f"simulated, above {title} (%)")
        style.legend(figure, *axes.get_legend_handles_labels(), "")
        style.head(figure, f"Simulated against {title} {what}")
        return style.save(figure, directory / "error")
