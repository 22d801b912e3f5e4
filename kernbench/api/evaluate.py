"""`kernbench.evaluate`: a fixed set of runs, its table and its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.api.evaluations import find_evaluation, find_part, read_settings
from kernbench.api.figure import Figure, choose_figure, draw_figures
from kernbench.errors import InputError
from kernbench.machine.overrides import split_settings
from kernbench.modes import Mode, check_mode
from kernbench.notebook import html_table
from kernbench.text import plural

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, slots=True, repr=False)
class EvaluationResult:
    """The result of an evaluation: `table` has a row for each run, `violations` what should hold of it and does not."""

    name: str
    topology: str
    mode: str
    settings: Mapping[str, Any]
    overrides: Mapping[str, object]
    table: polars.DataFrame
    violations: tuple[str, ...]

    def __repr__(self) -> str:
        runs = plural(len(self.table), "run")
        return (
            f"<EvaluationResult {self.name} on {self.topology}: {runs}; .table, .figures(), .show(), .plot(directory)>"
        )

    def _repr_html_(self) -> str:
        shown = find_evaluation(self.name).shown
        rows = [[format(row[name], field.form) for name, field in shown.items()] for row in self.table.to_dicts()]
        title = f"{self.name} evaluation on {self.topology}, {self.mode} mode"
        return html_table(title, [field.title for field in shown.values()], rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: what `kernbench compare` reads."""
        return {
            "evaluation": self.name,
            "topology": self.topology,
            "mode": self.mode,
            "settings": dict(self.settings),
            "overrides": {path: str(value) for path, value in self.overrides.items()},
            "point": list(find_part(find_evaluation(self.name).point)),
            "rows": self.table.to_dicts(),
        }

    def write(self, out: str | Path) -> dict[str, str]:
        """Write `NAME.parquet` and `NAME.json` into a directory, all or nothing; returns their paths by what they are.

        Errors: RunError if the disk refuses.
        """
        from kernbench.atomic_output import write_directory, write_json, write_parquet

        def write(partial: Path) -> None:
            write_parquet(self.table, partial / f"{self.name}.parquet")
            write_json(self.to_dict(), partial / f"{self.name}.json")

        write_directory(Path(out), write)
        return {"table": str(Path(out, f"{self.name}.parquet")), "json": str(Path(out, f"{self.name}.json"))}

    def figures(self) -> dict[str, Figure]:
        """The figures by the names of their files."""
        return draw_figures(self.plot)

    def figure(self, name: str) -> Figure:
        """One of `figures`. Errors: InputError for a name of none."""
        return choose_figure(self.figures(), name)

    def show(self) -> None:
        """Show all figures: below the cell in a notebook, elsewhere in a browser. Errors: RunError if there is neither."""
        for figure in self.figures().values():
            figure.show()

    def plot(self, directory: str | Path) -> list[Path]:
        """Draw the figures of the table into a directory; returns their paths. Errors: InputError if it cannot be written."""
        return plot_evaluation(self.name, self.table, Path(directory))


def evaluate(
    name: str,
    topology: str | Path | None = None,
    *,
    settings: Mapping[str, object] | None = None,
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    verify: bool = False,
    on_row: Callable[[Mapping[str, Any]], object] | None = None,
) -> EvaluationResult:
    """Run an evaluation on a machine, by default its own, such as "gemm" or "tpu"; nothing is written.

    `settings` are those of `kernbench evaluate --set`: `{"shapes": [(64, 128, 64)]}`, `{"bytes_per_pe": "1KiB,1MiB"}`.
    `overrides` are fields of the topology, as of `run`. `verify` computes the numbers too. `on_row` is called with each row.
    Errors: InputError for an unknown name, and for what the machine cannot do; RunError for a run that fails or wrong numbers.
    """
    found = find_evaluation(name)
    topology = topology or found.topology
    check_measured(mode)
    own, fields = split_settings(settings, overrides)
    typed = read_settings(name, own, topology, "settings")
    settled: dict[str, Any] = typed if on_row is None else {**typed, "on_row": on_row}
    table = find_part(found.run)(topology, **settled, overrides=fields, mode=mode, verify=verify)
    violations = find_part(found.check)(table) if found.check else ()
    return EvaluationResult(name, str(topology), mode, typed, fields, table, tuple(violations))


def check_measured(mode: str) -> None:
    """Errors: InputError for a mode in which nothing happens, or an unknown one."""
    if mode == Mode.ANALYTIC:
        raise InputError("an evaluation measures what happens, and in analytic mode nothing does; use mode hybrid")
    check_mode(mode)


def plot_evaluation(name: str, table: polars.DataFrame, directory: Path) -> list[Path]:
    """Draw the figures of an evaluation from its table alone. Errors: InputError for a table that no run gives."""
    return find_part(find_evaluation(name).plot)(table, directory)
