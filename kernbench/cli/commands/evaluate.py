"""`kernbench evaluate`: a fixed set of runs, its table and its plots.

Data and plots are two steps with files between them: `--data-only` leaves the plots out, `--figures-only` draws them again
from the table without running anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernbench.cli.commands import options
from kernbench.cli.names import completion
from kernbench.cli.output.files import show_files
from kernbench.cli.output.screen import say, show
from kernbench.errors import InputError, RunError
from kernbench.frontends.benches import FRONT_END
from kernbench.report.tables.table_files import write_forms
from kernbench.text_table import figures_table

if TYPE_CHECKING:
    import polars

    from kernbench.api.evaluate import EvaluationResult
    from kernbench.api.evaluations import Evaluation


@click.command("evaluate")
@click.argument("name", shell_complete=completion.evaluations)
@click.option(
    "--topology",
    "-t",
    help=f"The machine: a name or a YAML file.  [default: {FRONT_END.machine}, or the measured machines]",
    shell_complete=completion.topologies,
)
@options.mode()
@click.option("--verify-data", is_flag=True, help="Compute the numbers of every run too and check them.")
@options.assignments("A setting of the evaluation, or a topology field (topology.hbm.channel_gbs=64)")
@click.option("--data-only", is_flag=True, help="Run and keep the table; draw nothing.")
@click.option("--figures-only", is_flag=True, help="Draw the figures of the table that is there; run nothing.")
@options.AS_JSON
@options.out("Where table and figures are.  [default: results/NAME]")
@options.FORMS
def command(
    name: str,
    topology: str | None,
    mode: str,
    verify_data: bool,
    assignments: tuple[str, ...],
    data_only: bool,
    figures_only: bool,
    as_json: bool,
    out: Path | None,
    forms: tuple[str, ...],
) -> None:
    """Run the evaluation NAME on a machine; keep its table as parquet and JSON, and draw its figures.

    gemm: eight shapes of matrix products, their operands staged in three ways, on one PE unless --set asks for others
    (shapes=64x128x64,512x512x512; variants; sips, cubes, pes: how many take part, 0 for all; dtype).

    attention: prefill and decode for one user and more, at two lengths, with grouped queries and without (phases, users,
    tokens, context, heads, kv_heads, head_dim, dtype).

    allreduce: latency against bytes by the memory of slots, SIP topology, root and algorithm, on six SIPs unless --set says
    otherwise (bytes_per_pe=1KiB,1MiB; n_sips, sips_w, sips_h, cubes, n_slots, slot_size, dtype). What must hold of it is
    checked.

    chip-gemm: simulated matrix products against published ones of two chips (largest=2048: the largest side;
    dtypes=bfloat16,bfloat8_b,bfloat4_b; chip=n150: the one with which another topology is compared).

    chips: operations of measured networks, and these products, against the times of their kernels (operations=matmul,unary;
    longest_ns=100us: leave out what took longer; file=mine.csv: another table of operations).

    noc: latencies and rates of the two networks of chips against published measurements (patterns=read same axis,multicast;
    most_cores=25; chip=wormhole_n150: the one with which another topology is compared).

    tpu: layers of Llama-3.1-8B on a systolic machine against times measured on a TPU v6e (layers=mlp,lm_head; tokens=16,2048).
    """
    from kernbench.api.evaluations import find_evaluation, find_part

    found = find_evaluation(name)
    if data_only and figures_only:
        raise InputError("--data-only and --figures-only leave nothing to do; give one of them")
    out = out or Path("results", name)
    if figures_only:
        files = _draw(name, _read(out / f"{name}.parquet"), out)
        _report({"evaluation": name, "files": files}, as_json)
        return
    result = _evaluate(name, found, topology, mode, verify_data, assignments, out)
    rows = result.table.to_dicts()
    files: dict[str, Any] = dict(result.write(out))
    files |= write_forms(files, forms)
    if not data_only:
        files |= _draw(name, result.table, out)
    if not as_json:
        show(figures_table(rows, found.shown, whole=f"in {name}.parquet"))
        if found.summary:
            say(find_part(found.summary)(result.table))
    checked: dict[str, Any] = {"violations": list(result.violations)} if found.check else {}
    if found.summary:
        checked["summary"] = find_part(found.summary)(result.table)
    _report({"evaluation": name, "rows": rows, "files": files, **checked}, as_json)
    if result.violations:
        raise RunError("; ".join(result.violations))


def _evaluate(
    name: str, found: Evaluation, topology: str | None, mode: str, verify: bool, assignments: tuple[str, ...], out: Path
) -> EvaluationResult:
    """Run an evaluation, with a line for each run."""
    from kernbench.api.evaluate import check_measured, evaluate
    from kernbench.api.evaluations import read_settings
    from kernbench.cli.names.assignment import split_assignments
    from kernbench.cli.output.compiling import announce_compiling
    from kernbench.cli.output.files import check_directory
    from kernbench.cli.output.progress import status_line

    check_measured(mode)
    given, overrides = split_assignments(assignments)
    settings = read_settings(name, given, topology or found.topology, "--set")
    check_directory(out)
    announce_compiling()
    with status_line() as tell:
        tell("running the first case")

        def show_row(row: Mapping[str, Any]) -> None:
            text = found.progress.format(**row)
            say(text, err=True)
            tell(f"running the case after {text}")

        return evaluate(
            name, topology, settings=settings, overrides=overrides, mode=mode, verify=verify, on_row=show_row
        )


def _read(path: Path) -> polars.DataFrame:
    from kernbench.atomic_output import unreadable
    from kernbench.sealing import read_sealed_parquet

    try:
        return read_sealed_parquet(path)
    except (OSError, *unreadable()):
        raise InputError(
            f"there is no table {path}; run `kernbench evaluate {path.stem}` first, or give its --out"
        ) from None


def _draw(name: str, table: polars.DataFrame, out: Path) -> dict[str, Any]:
    from kernbench.api.evaluate import plot_evaluation
    from kernbench.cli.output.progress import status_line

    with status_line() as tell:
        tell("drawing the figures")
        return {"figures": [str(path) for path in plot_evaluation(name, table, out)]}


def _report(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(summary))
        return
    show_files(summary["files"])
