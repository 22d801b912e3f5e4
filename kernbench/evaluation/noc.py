"""The evaluation of a chip's networks: latencies and rates against published measurements.

`noc.csv` has cycles of cases of `noc_cases`. Those of source "table" are of tenstorrent/tt-metal,
`tt_metal/impl/experimental/noc_estimator/latencies/noc_latencies.yaml`, commit 1bf4911 (Apache-2.0). Those of source "rates"
follow from published bytes a cycle and core of the same measurement, of an earlier table. The two differ by up to 38 % where
both have a case of all cores that read from all, so such cases are known no better. Routers have finite buffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, suggest
from kernbench.evaluation.measure import OnRow
from kernbench.evaluation.measured import find_errors
from kernbench.evaluation.noc_cases import PATTERNS, measure_case
from kernbench.machine import load_machine
from kernbench.traffic.noc_trace.replays import DEFAULTS

if TYPE_CHECKING:
    import polars

FILE = Path(__file__).with_suffix(".csv")

# The columns of the table, with their types.
COLUMNS: dict[str, type] = {
    "topology": str,
    "pattern": str,  # of PATTERNS
    "cores": int,
    "bytes": int,  # of a transaction
    "transactions": int,  # of each core that moves data, before its barrier
    "source": str,
    "simulated_cycles": float,
    "measured_cycles": float,
    "error": float,  # of the simulated cycles, over the measured ones
    "bytes_per_cycle": float,  # of each core that moves data, simulated
    "measured_bytes_per_cycle": float,
}

POINT = ("topology", "pattern", "cores", "bytes", "transactions", "source")  # which run a row is of


def read_measured() -> list[dict[str, Any]]:
    """The measured cases, in the order of the file."""
    import polars

    return polars.read_csv(FILE, schema_overrides={"measured_cycles": polars.Float64}).to_dicts()


def evaluate_noc(
    topology: str | Path,
    *,
    patterns: Sequence[str] = tuple(PATTERNS),
    most_cores: int = 0,
    chip: str = "",
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    verify: bool = False,  # noqa: ARG001
    on_row: OnRow = lambda _row: None,
) -> polars.DataFrame:
    """Run the measured cases of each topology; a row each, with the columns of `COLUMNS`.

    `topology` may be several, with commas, and `chip` the shipped one with whose cases another is compared. `patterns` are
    some of `PATTERNS`, and cases have at most `most_cores` (0: any number). `overrides` are fields of the topology. Nothing is
    verified, since no numbers move. `on_row` is called with each row. Errors: InputError for a pattern or a chip that nobody
    measured.
    """
    import polars

    for pattern in patterns:
        if pattern not in PATTERNS:
            raise InputError(f"there is no pattern {pattern!r}{suggest(pattern, PATTERNS)}")
    measured, rows = read_measured(), list[dict[str, Any]]()
    for name in (part.strip() for part in str(topology).split(",")):
        known = sorted({one["topology"] for one in measured})
        if (chip or name) not in known:
            raise InputError(
                f"nobody measured the networks of {chip or name}; give --topology {' or '.join(known)}, or --set "
                f"chip={' or '.join(known)} to compare another topology with it"
            )
        machine = load_machine(name, {**DEFAULTS, **(overrides or {})})
        for one in measured:
            if (
                one["topology"] == (chip or name)
                and one["pattern"] in patterns
                and one["cores"] <= (most_cores or 1000)
            ):
                moved = (one["cores"], one["bytes"], one["transactions"])
                cycles, bytes_moved = (
                    measure_case(machine, one["pattern"], *moved, mode),
                    one["bytes"] * one["transactions"],
                )
                rows.append(
                    {
                        **one,
                        "topology": name,
                        "simulated_cycles": cycles,
                        "error": cycles / one["measured_cycles"] - 1,
                        "bytes_per_cycle": bytes_moved / cycles,
                        "measured_bytes_per_cycle": bytes_moved / one["measured_cycles"],
                    }
                )
                on_row(rows[-1])
    if not rows:
        raise InputError("no measured case is left; leave out patterns or most_cores")
    return polars.DataFrame(rows, schema=COLUMNS)


def summarise(table: polars.DataFrame) -> str:
    """The errors of each topology and pattern, a line each."""
    import polars

    lines = list[str]()
    for topology, pattern in table.select("topology", "pattern").unique(maintain_order=True).iter_rows():
        own = table.filter(polars.col("topology") == topology, polars.col("pattern") == pattern)
        errors = find_errors(own["simulated_cycles"].to_list(), own["measured_cycles"].to_list())
        lines.append(f"{topology}, {pattern}, {errors}")
    return "\n".join(lines)
