"""Replay the NoC traces of files and directories: the results together, and why others failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.notebook import html_table
from kernbench.text import plural
from kernbench.traffic.noc_trace.file import list_trace_files, read_noc_trace
from kernbench.traffic.noc_trace.lowering import Lowering
from kernbench.traffic.noc_trace.replay import NocReplay, replay_trace

if TYPE_CHECKING:
    import polars

TOPOLOGY = "wormhole_n150"
DEFAULTS = {"flow_control": "credit"}  # routers of a chip have finite buffers


@dataclass(frozen=True, slots=True, repr=False)
class NocReplays:
    """Replays of traces, in the order given.

    - `replays`: of each trace that could be replayed, its `simulated_cycles`, `trace_cycles`, `error`, `barriers` and waits.
    - `errors`: a sentence for each other, with file and row.
    """

    replays: tuple[NocReplay, ...]
    errors: tuple[InputError, ...]

    def __repr__(self) -> str:
        failed = f", {len(self.errors)} failed" if self.errors else ""
        return f"<NocReplays: {self.summary or 'no trace'}{failed}; .replays, .table()>"

    def _repr_html_(self) -> str:
        cells = [
            [one.file.stem, f"{one.simulated_cycles:,.0f}", f"{one.trace_cycles:,}", f"{one.error:+.1%}"]
            for one in self.replays
        ]
        heads = ["trace", "simulated cycles", "in the trace", "error"]
        return html_table(self.summary or "no trace", heads, cells, *map(str, self.errors))

    @property
    def mean_error(self) -> float | None:
        """The mean of the absolute errors; None without a replay."""
        return sum(abs(one.error) for one in self.replays) / len(self.replays) if self.replays else None

    @property
    def summary(self) -> str:
        """The errors in a line, "" without a replay."""
        if self.mean_error is None:
            return ""
        worst = max(self.replays, key=lambda one: abs(one.error))
        mean = f"mean absolute error {self.mean_error:.2%} of {plural(len(self.replays), 'trace')}"
        return f"{mean}, largest {worst.error:+.1%}: {worst.file.name}"

    def table(self) -> polars.DataFrame:
        """One row for each replay: file, topology, simulated_cycles, trace_cycles, error, barrier_error and times lost (ns)."""
        import polars

        return polars.DataFrame([one.to_row() for one in self.replays], infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "mean_absolute_error": self.mean_error,
            "traces": [one.to_dict() for one in self.replays],
            "errors": [str(error) for error in self.errors],
        }


def replay_traces(
    paths: Sequence[Path],
    topology: str | Path = TOPOLOGY,
    *,
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    closed_loop: bool = False,
    on_done: Callable[[NocReplay | InputError], object] = lambda _done: None,
) -> NocReplays:
    """Replay the traces of files and directories; a trace that cannot be replayed does not stop the others.

    Routers have finite buffers unless `overrides` say otherwise. `on_done` is called with each. Errors: InputError for a
    directory without traces, and for a machine of another family.
    """
    files = [file for path in paths for file in list_trace_files(path)]
    machine = load_machine(topology, {**DEFAULTS, **(overrides or {})})
    Lowering(machine)
    replays, errors = list[NocReplay](), list[InputError]()
    for file in files:
        try:
            found = replay_trace(machine, read_noc_trace(file), mode, closed_loop=closed_loop)
        except InputError as error:
            errors.append(error)
            on_done(error)
        else:
            replays.append(found)
            on_done(found)
    return NocReplays(tuple(replays), tuple(errors))
