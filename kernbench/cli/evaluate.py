"""`kernbench evaluate`: a fixed set of runs, its table and its plots.

Data and plots are two steps with files between them: `--data-only` leaves the plots out, `--figures-only` draws them again
from the table without running anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernbench.cli import options
from kernbench.cli.probe_effort import show_files
from kernbench.cli.screen import say, show
from kernbench.errors import InputError, RunError, suggest
from kernbench.modes import Mode, check_mode
from kernbench.report.table_files import write_forms
from kernbench.report.text_table import Field, figures_table

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation: the settings of `--set`, its run and plot functions ("module:function"), the format of its rows."""

    settings: Mapping[str, type]
    run: str
    plot: str
    shown: Mapping[str, Field]  # by column
    progress: str  # the line for each row, while it runs
    check: str = ""  # a function that returns the violated invariants of a table


EVALUATIONS = {
    "gemm": Evaluation(
        settings={"dtype": str, "sips": int, "cubes": int, "pes": int},
        run="kernbench.evaluation.gemm:evaluate_gemm",
        plot="kernbench.report.gemm:plot_gemm",
        shown={
            "M": Field("M", "d"),
            "K": Field("K", "d"),
            "N": Field("N", "d"),
            "variant": Field("variant"),
            "pe_exec_ns": Field("kernel ns", ",.1f"),
            "achieved_tflops": Field("TFLOPS", ",.3f", rank=3),
            "efficiency": Field("of peak", ".0%", rank=1),
            "bottleneck": Field("bottleneck"),
        },
        progress="{M} x {K} x {N} {variant}  {pe_exec_ns:,.1f} ns",
    ),
    "attention": Evaluation(
        settings={"heads": int, "kv_heads": int, "head_dim": int, "dtype": str},
        run="kernbench.evaluation.attention:evaluate_attention",
        plot="kernbench.report.attention:plot_attention",
        shown={
            "phase": Field("phase"),
            "users": Field("users", ",d"),
            "length": Field("length", ",d"),
            "kv_heads": Field("heads of keys", ",d", rank=6),
            "latency_ns": Field("latency ns", ",.1f"),
            "tokens_per_us": Field("tokens a µs", ",.1f", rank=4),
            "achieved_tflops": Field("TFLOPS", ",.3f", rank=3),
            "achieved_gbs": Field("GB/s", ",.1f", rank=2),
            "bottleneck": Field("bottleneck"),
        },
        progress="{phase} {users} x {length} {kv_heads} heads of keys  {latency_ns:,.1f} ns",
    ),
    "allreduce": Evaluation(
        settings={
            "n_sips": int,
            "sips_w": int,
            "sips_h": int,
            "cubes": int,
            "n_slots": int,
            "slot_size": int,
            "dtype": str,
        },
        run="kernbench.evaluation.allreduce:evaluate_allreduce",
        plot="kernbench.report.allreduce:plot_allreduce",
        shown={
            "sip_topology": Field("SIPs"),
            "algorithm": Field("algorithm"),
            "root": Field("root"),
            "buffer_kind": Field("slots"),
            "bytes_per_pe": Field("bytes of a PE", ",d"),
            "latency_ns": Field("latency ns", ",.1f"),
            "busbw_gbs": Field("bus GB/s", ",.1f", rank=4),
            "task_bound_ns": Field("bound ns", ",.1f", rank=3),
            "times_task_bound": Field("x bound", ".2f", rank=4),
            "bound_ns": Field("algorithm's", ",.1f", rank=1),
            "times_bound": Field("x algorithm's", ".2f", rank=2),
        },
        progress="{sip_topology} {algorithm} {root} {buffer_kind} {bytes_per_pe} B  {latency_ns:,.1f} ns",
        check="kernbench.evaluation.allreduce:find_violations",
    ),
}


@click.command("evaluate")
@click.argument("name")
@options.TOPOLOGY
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
    topology: str,
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

    gemm: eight shapes of matrix products, their operands staged in three ways, on one PE unless --set asks for more (sips,
    cubes, pes: how many take part, 0 for all; dtype).

    attention: prefill and decode for one user and more, at two lengths, with grouped queries and without (heads, kv_heads,
    head_dim, dtype).

    allreduce: latency against bytes by the memory of slots, SIP topology, root and algorithm, on six SIPs unless --set says
    otherwise (n_sips, sips_w, sips_h, cubes, n_slots, slot_size, dtype). What must hold of it is checked.
    """
    if name not in EVALUATIONS:
        raise InputError(f"there is no evaluation {name!r}{suggest(name, EVALUATIONS)}")
    if data_only and figures_only:
        raise InputError("--data-only and --figures-only leave nothing to do; give one of them")
    if mode == Mode.ANALYTIC:
        raise InputError("an evaluation measures what happens, and in analytic mode nothing does; use mode hybrid")
    check_mode(mode)
    out = out or Path("results", name)
    if figures_only:
        files = _draw(name, _read(out / f"{name}.parquet"), out)
        _report({"evaluation": name, "files": files}, as_json)
        return
    table, files = _evaluate(name, topology, mode, verify_data, assignments, out)
    files |= write_forms(files, forms)
    if not data_only:
        files |= _draw(name, table, out)
    if not as_json:
        show(figures_table(table.to_dicts(), EVALUATIONS[name].shown, whole=f"in {name}.parquet"))
    check = EVALUATIONS[name].check
    violations: list[str] = _find(check)(table) if check else []
    summary = {"evaluation": name, "rows": table.to_dicts(), "files": files}
    _report(summary | ({"violations": violations} if check else {}), as_json)
    if violations:
        raise RunError("; ".join(violations))


def _evaluate(
    name: str, topology: str, mode: str, verify: bool, assignments: tuple[str, ...], out: Path
) -> tuple[polars.DataFrame, dict[str, Any]]:
    """Run and save the table; returns it with the paths of its files."""
    from kernbench.atomic_output import write_directory, write_json, write_parquet
    from kernbench.cli.compiling import announce_compiling
    from kernbench.cli.outputs import check_directory
    from kernbench.cli.progress import status_line

    settings, overrides = _settings(name, assignments)
    check_directory(out)
    announce_compiling()

    with status_line() as tell:
        tell("running the first case")

        def show_row(row: Mapping[str, Any]) -> None:
            text = EVALUATIONS[name].progress.format(**row)
            say(text, err=True)
            tell(f"running the case after {text}")

        run = _find(EVALUATIONS[name].run)
        table = run(topology, **settings, overrides=overrides, mode=mode, verify=verify, on_row=show_row)
    about = {"evaluation": name, "topology": topology, "mode": mode, "settings": settings, "overrides": overrides}

    def write(partial: Path) -> None:
        write_parquet(table, partial / f"{name}.parquet")
        write_json({**about, "rows": table.to_dicts()}, partial / f"{name}.json")

    write_directory(out, write)
    return table, {"table": str(out / f"{name}.parquet"), "json": str(out / f"{name}.json")}


def _settings(name: str, assignments: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, str]]:
    from kernbench.cli.assignment import split_assignments

    given, overrides = split_assignments(assignments)
    known = EVALUATIONS[name].settings
    settings: dict[str, Any] = {}
    for key, text in given.items():
        if key not in known:
            raise InputError(f"the evaluation {name!r} has no setting {key!r}{suggest(key, known)}")
        try:
            settings[key] = known[key](text)
        except ValueError:
            raise InputError(f"--set {key} takes a whole number, not {text!r}") from None
    return settings, overrides


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
    from kernbench.cli.progress import status_line

    with status_line() as tell:
        tell("drawing the figures")
        return {"figures": [str(path) for path in _find(EVALUATIONS[name].plot)(table, out)]}


def _find(place: str) -> Any:
    module, _, function = place.partition(":")
    return getattr(import_module(module), function)


def _report(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(summary))
        return
    files = summary["files"]
    show_files(files)
