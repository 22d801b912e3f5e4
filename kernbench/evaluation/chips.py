"""The evaluation of operations on chips: products and operations of measured networks against the times of their kernels.

`published` are the products of `chip_gemm`, the others the operations of `chip_operations`. Each is a run of a bench of the
library of Tanto kernels, without numbers unless they are verified. Times of all are ns of the device, without the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, suggest
from kernbench.evaluation.chip_gemm import CHIPS, evaluate_chip_gemm, read_published
from kernbench.evaluation.chip_operations import FILE, KINDS, Operation, read_operations
from kernbench.evaluation.measure import OnRow, measure
from kernbench.evaluation.measured import find_errors

if TYPE_CHECKING:
    import polars

PUBLISHED = "published"
OPERATIONS = (PUBLISHED, *KINDS)

# The columns of the table, with their types.
COLUMNS: dict[str, type] = {
    "topology": str,
    "operation": str,  # of OPERATIONS
    "capture": str,  # of the network, or the program of a published product
    "case": str,  # shapes of the operands
    "cores": int,
    "dtype": str,
    "fidelity": str,
    "layout": str,
    "simulated_ns": float,
    "measured_ns": float,
    "error": float,  # of the simulated time, over the measured one
    "bottleneck": str,
    "verified": bool,  # null when not asked
}

POINT = ("topology", "operation", "capture", "case", "cores", "dtype", "fidelity", "layout")  # which run a row is of


def evaluate_chips(
    topology: str | Path,
    *,
    operations: Sequence[str] = OPERATIONS,
    longest_ns: float = 0,
    file: str = "",
    overrides: Mapping[str, object] | None = None,
    mode: str = "hybrid",
    verify: bool = False,
    on_row: OnRow = lambda _row: None,
) -> polars.DataFrame:
    """Run the measured operations of each topology's chip; a row each, with the columns of `COLUMNS`.

    `topology` may be several, with commas. `operations` are some of `OPERATIONS`; those that took longer than `longest_ns`
    are left out (0: none). `file` is another table of operations, with the columns of `chip_operations.csv`. `overrides` are
    fields of the topology. `on_row` is called with each row.
    Errors: InputError for an unknown operation or topology, a file that cannot be read, or if no operation is left.
    """
    import polars

    for one in operations:
        if one not in OPERATIONS:
            raise InputError(f"there is no measured operation {one!r}{suggest(one, OPERATIONS)}")
    names = [part.strip() for part in str(topology).split(",")]
    for name in names:
        if name not in CHIPS:
            raise InputError(f"topology {name} is no chip with measured operations; give {' or '.join(CHIPS)}")
    rows = list[dict[str, Any]]()

    def keep(row: Mapping[str, Any]) -> None:
        rows.append(dict(row))
        on_row(row)

    for operation in read_operations(Path(file) if file else FILE):
        wanted = operation.kind in operations and operation.topology in names and operation.bench
        if wanted and not 0 < longest_ns < operation.row["measured_ns"]:
            keep(_row(operation, overrides, mode, verify))
    if PUBLISHED in operations and not file:
        _add_published(names, longest_ns, overrides, mode, verify, keep)
    if not rows:
        raise InputError(
            "there is no measured operation of that kind, time and chip; leave out operations or longest_ns"
        )
    return polars.DataFrame(rows, schema=COLUMNS)


def _row(operation: Operation, overrides: Mapping[str, object] | None, mode: str, verify: bool) -> dict[str, Any]:
    row, parameters = operation.row, operation.parameters or {}
    result = measure(operation.bench, operation.topology, parameters, overrides, mode, verify)
    return {
        "topology": operation.topology,
        "operation": operation.kind,
        "capture": row["capture"],
        "case": operation.case,
        "cores": row["cores"],
        "dtype": parameters.get("dtype", "bfloat16"),
        "fidelity": (row.get("fidelity") or "").lower(),
        "layout": parameters.get("layout", "l1"),
        "simulated_ns": result.latency_ns,
        "measured_ns": row["measured_ns"],
        "error": result.latency_ns / row["measured_ns"] - 1,
        "bottleneck": result.bottleneck,
        "verified": result.verified,
    }


def _add_published(
    names: Sequence[str],
    longest_ns: float,
    overrides: Mapping[str, object] | None,
    mode: str,
    verify: bool,
    keep: OnRow,
) -> None:
    """Keep a row for each published product, in ns of the clock of its chip."""
    from kernbench.machine import load_machine

    for name in names:
        clock = load_machine(name, overrides).figures["tensix_core.clock_ghz"]
        most = int(longest_ns * clock)
        if most and all(one["device_cycles"] > most for one in read_published() if one["chip"] == CHIPS[name]):
            continue

        def convert(row: Mapping[str, Any], clock: float = clock) -> None:
            keep(
                {
                    **{column: row[column] for column in ("topology", "dtype", "fidelity", "layout", "error")},
                    "operation": PUBLISHED,
                    "capture": row["program"],
                    "case": f"1x1x{row['M']}x{row['K']} by 1x1x{row['K']}x{row['N']}",
                    "cores": row["grid_x"] * row["grid_y"],
                    "simulated_ns": row["cycles"] / clock,
                    "measured_ns": row["device_cycles"] / clock,
                    "bottleneck": row["bottleneck"],
                    "verified": row["verified"],
                }
            )

        evaluate_chip_gemm(
            name,
            longest_cycles=most,
            overrides=overrides,
            mode=mode,
            verify=verify,
            on_row=convert,
        )


def summarise(table: polars.DataFrame) -> str:
    """The errors of a table, a line for each operation, and one for all products of matrices and for all rows."""
    groups = {f"{name}": own for (name,), own in table.group_by("operation", maintain_order=True)}
    products = table.filter(table["operation"].is_in([PUBLISHED, "matmul"]))
    if products.height:
        groups["all products of matrices"] = products
    groups["all"] = table
    return "\n".join(
        f"{name}, {find_errors(own['simulated_ns'].to_list(), own['measured_ns'].to_list())}"
        for name, own in groups.items()
    )
