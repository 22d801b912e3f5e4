"""`kernbench evaluate`: a fixed set of runs, its table, its figures.

Data and figures are two steps with files between them: `--data-only` leaves the figures out, `--figures-only` draws them again
from the table without running anything.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernbench.errors import InputError, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars

NAMES = ("gemm",)
SETTINGS = {"dtype": str, "sips": int, "cubes": int, "pes": int}
SHOWN = {
    "M": ("M", ""),
    "K": ("K", ""),
    "N": ("N", ""),
    "variant": ("variant", ""),
    "pe_exec_ns": ("kernel ns", ",.1f"),
    "achieved_tflops": ("TFLOPS", ",.3f"),
    "efficiency": ("of peak", ".0%"),
    "bottleneck": ("bottleneck", ""),
}


@click.command("evaluate")
@click.argument("name")
@click.option("--topology", "-t", default="sip_2x4x4", show_default=True, help="The machine: a name or a YAML file.")
@click.option("--mode", default="hybrid", show_default=True, help="hybrid or flit: the same times, found in two ways.")
@click.option("--verify-data", is_flag=True, help="Compute the numbers of every run too and check them.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="PATH=VALUE",
    help="dtype, sips, cubes or pes (how many take part, 0: all), or a topology field; may be repeated.",
)
@click.option("--data-only", is_flag=True, help="Run and keep the table; draw nothing.")
@click.option("--figures-only", is_flag=True, help="Draw the figures of the table that is there; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--out", type=click.Path(path_type=Path), help="Where table and figures are.  [default: results/NAME]")
def command(
    name: str,
    topology: str,
    mode: str,
    verify_data: bool,
    assignments: tuple[str, ...],
    data_only: bool,
    figures_only: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    """Run the evaluation NAME on a machine; keep its table as parquet and JSON, and draw its figures.

    gemm: eight shapes of matrix products, their operands staged in three ways, on one PE unless --set asks for more.
    """
    if name not in NAMES:
        raise InputError(f"there is no evaluation {name!r}{suggest(name, NAMES)}")
    if data_only and figures_only:
        raise InputError("--data-only and --figures-only leave nothing to do; give one of them")
    out = out or Path("results", name)
    if figures_only:
        files = _draw(_read(out / f"{name}.parquet"), out)
        _report({"evaluation": name, "files": files}, as_json)
        return
    table, files = _evaluate(name, topology, mode, verify_data, assignments, out)
    if not data_only:
        files |= _draw(table, out)
    if not as_json:
        from kernbench.cli.screen import figures_table, show

        show(figures_table(table.to_dicts(), SHOWN))
    _report({"evaluation": name, "rows": table.to_dicts(), "files": files}, as_json)


def _evaluate(
    name: str, topology: str, mode: str, verify: bool, assignments: tuple[str, ...], out: Path
) -> tuple[polars.DataFrame, dict[str, Any]]:
    """The table, kept in two forms, and where."""
    from kernbench.cli.compiling import announce_compiling
    from kernbench.cli.outputs import check_directory
    from kernbench.directory import write_directory, write_json
    from kernbench.evaluation.gemm import evaluate_gemm

    settings, overrides = _settings(assignments)
    check_directory(out)
    announce_compiling()
    table = evaluate_gemm(topology, **settings, overrides=overrides, mode=mode, verify=verify, on_row=_tell)
    about = {"evaluation": name, "topology": topology, "mode": mode, "settings": settings, "overrides": overrides}

    def write(partial: Path) -> None:
        table.write_parquet(partial / f"{name}.parquet")
        write_json({**about, "rows": table.to_dicts()}, partial / f"{name}.json")

    write_directory(out, write)
    return table, {"table": str(out / f"{name}.parquet"), "json": str(out / f"{name}.json")}


def _settings(assignments: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, str]]:
    from kernbench.cli.assignment import split_assignments

    given, overrides = split_assignments(assignments)
    settings: dict[str, Any] = {}
    for key, text in given.items():
        if key not in SETTINGS:
            raise InputError(f"an evaluation has no setting {key!r}{suggest(key, SETTINGS)}")
        try:
            settings[key] = SETTINGS[key](text)
        except ValueError:
            raise InputError(f"--set {key} takes a whole number, not {text!r}") from None
    return settings, overrides


def _read(path: Path) -> polars.DataFrame:
    import polars

    try:
        return polars.read_parquet(path)
    except (OSError, polars.exceptions.PolarsError):
        raise InputError(
            f"there is no table {path}; run `kernbench evaluate {path.stem}` first, or give its --out"
        ) from None


def _draw(table: polars.DataFrame, out: Path) -> dict[str, Any]:
    from kernbench.report.gemm import plot_gemm

    return {"figures": [str(path) for path in plot_gemm(table, out)]}


def _tell(row: Mapping[str, Any]) -> None:
    click.echo(f"{row['M']} x {row['K']} x {row['N']} {row['variant']}  {row['pe_exec_ns']:,.1f} ns", err=True)


def _report(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(summary))
        return
    files = summary["files"]
    for path in (*(files[kind] for kind in ("table", "json") if kind in files), *files.get("figures", ())):
        click.echo(f"wrote {path}")
