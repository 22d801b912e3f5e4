"""The evaluation of matrix products on chips: how near do simulated cycles come to published ones?

`chip_gemm.csv` has products that the maker of the chips has measured and published: tenstorrent/tt-metal,
`tech_reports/GEMM_FLOPS/GEMM_FLOPS.md` (Apache-2.0). `device_cycles` follow from its definition of utilisation, the cycles
that the matrix units need over those that they took, and leave the host out. `layout` is where A and C are, and `program`
whether it was tuned by hand. Each row is a run of `tanto-matmul`, whose blocks follow from its own rule and not from the
published program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError
from kernbench.evaluation.measure import OnRow, measure

if TYPE_CHECKING:
    import polars

BENCH = "tanto-matmul"
CHIPS = {"wormhole_n150": "n150", "blackhole_p150": "p150"}  # by topology
FILE = Path(__file__).with_suffix(".csv")

# The columns of the table, with their types.
COLUMNS: dict[str, type] = {
    "topology": str,
    "chip": str,
    "grid_x": int,
    "grid_y": int,
    "dtype": str,
    "fidelity": str,
    "program": str,
    "layout": str,
    "M": int,
    "K": int,
    "N": int,
    "cycles": float,  # simulated
    "device_cycles": int,  # published
    "error": float,  # of the simulated cycles, over the published ones
    "utilisation": float,  # of the matrix units, simulated
    "device_utilisation": float,  # published
    "bottleneck": str,
    "verified": bool,  # null when not asked
}

POINT = ("topology", "chip", "dtype", "fidelity", "program", "layout", "M", "K", "N")  # which run a row is of
_PARAMETERS = ("grid_x", "grid_y", "dtype", "layout", "M", "K", "N")  # those that the bench has, too


def read_published() -> list[dict[str, Any]]:
    """The published products, in the order of the file."""
    import polars

    return polars.read_csv(FILE).to_dicts()


def evaluate_chip_gemm(
    topology: str | Path,
    *,
    chip: str = "",
    largest: int = 0,
    longest_cycles: int = 0,
    dtypes: Sequence[str] | None = None,
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    verify: bool = False,
    on_row: OnRow = lambda _row: None,
) -> polars.DataFrame:
    """Run the published products of each topology's chip; a row each, with the columns of `COLUMNS`.

    `topology` may be several, with commas. `chip` is the one with which another topology is compared. Sides are at most
    `largest` (0: all), published cycles at most `longest_cycles` (0: any), formats some of `dtypes`. `overrides` are fields of
    the topology. `on_row` is called with each row.
    Errors: InputError for a topology of no chip, or if no product is left; RunError when a check of the numbers fails.
    """
    import polars

    published = [
        one
        for one in read_published()
        if (not largest or max(one["M"], one["K"], one["N"]) <= largest)
        and (not longest_cycles or one["device_cycles"] <= longest_cycles)
        and (dtypes is None or one["dtype"] in dtypes)
    ]
    chosen = [
        (name, one)
        for name in (part.strip() for part in str(topology).split(","))
        for one in published
        if one["chip"] == _chip_of(name, chip)
    ]
    if not chosen:
        raise InputError(
            "there is no published product of that chip, size and format; leave out largest, dtypes or chip"
        )
    rows = list[dict[str, Any]]()
    for name, one in chosen:
        rows.append(_row(name, one, overrides, mode, verify))
        on_row(rows[-1])
    return polars.DataFrame(rows, schema=COLUMNS)


def _chip_of(topology: str, chip: str) -> str:
    """The chip whose products are run on a topology. Errors: InputError for one of none."""
    found, known = chip or CHIPS.get(topology, ""), sorted(set(CHIPS.values()))
    if found not in known:
        raise InputError(
            f"{f'there is no chip {chip!r}' if chip else f'topology {topology} is no chip with published products'}; "
            f"give --topology {' or '.join(CHIPS)}, or --set chip={' or '.join(known)} to compare another topology with it"
        )
    return found


def _row(
    topology: str, one: Mapping[str, Any], overrides: Mapping[str, object] | None, mode: str, verify: bool
) -> dict[str, Any]:
    parameters = {name: one[name] for name in _PARAMETERS} | {"math_fidelity": one["fidelity"]}
    result = measure(BENCH, topology, parameters, overrides, mode, verify)
    cycles = result.latency_ns * 1e6 / result.device.session.machine.figures["tensix_core.cycle"]
    device_utilisation = one["utilisation_percent"] / 100
    return {
        **{name: one[name] for name in ("chip", "fidelity", "program", "device_cycles", *_PARAMETERS)},
        "topology": topology,
        "cycles": cycles,
        "error": cycles / one["device_cycles"] - 1,
        "utilisation": device_utilisation * one["device_cycles"] / cycles,
        "device_utilisation": device_utilisation,
        "bottleneck": result.bottleneck,
        "verified": result.verified,
    }


def summarise(table: polars.DataFrame) -> str:
    """The errors of a table in a line."""
    errors: Any = table["error"].abs()
    return f"median error {errors.median():.1%}, largest {errors.max():.1%}, of {len(table)} products"
