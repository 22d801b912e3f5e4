"""The axes of a sweep, found from its table.

Columns that always change together (a `zip` of the grid) are one axis. So a plot can be made again from `table.parquet`
alone, long after its grid file has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from kernbench.sweep.point import TOPOLOGY
from kernbench.sweep.row import COLUMNS

if TYPE_CHECKING:
    import polars

# The unit of a topology field is a word of its name (`channel_gbs`, `tflops_f16`); some units measure cost.
UNITS = {"gbs": "GB/s", "tflops": "TFLOPS", "bytes": "B", "ns": "ns", "mm": "mm", "ghz": "GHz"}
PAID_FOR = {"GB/s", "TFLOPS", "B", "GHz"}
# Words in names of fields, and of parameters of a bench, of which more is more hardware; and memories.
HARDWARE = {"gbs", "tflops", "elements", "ghz", "channels", "count", "cubes", "pes", "rows", "cols", "buffer"}
BENCH_HARDWARE = {"sips", "cubes", "pes"}
MEMORIES = {"topology.sram.bytes", "topology.pe_tcm.bytes", "topology.hbm.slice_bytes"}


@dataclass(frozen=True, slots=True)
class Swept:
    """An axis: its column, the columns that change with it, and its values in the grid's order."""

    column: str
    companions: tuple[str, ...]
    values: tuple[Any, ...]
    numeric: bool

    @property
    def in_order(self) -> tuple[Any, ...]:
        """Its values, numbers in rising order: if points are left out, the first rows need not be in the order of the grid."""
        return tuple(sorted(self.values)) if self.numeric else self.values

    @property
    def of_topology(self) -> bool:
        """Whether it is a field of the topology, not a parameter of the bench."""
        return self.column.startswith(TOPOLOGY)

    @property
    def paid_for(self) -> bool:
        """Whether more of it makes the machine more expensive."""
        return self.numeric and self.unit in PAID_FOR

    @property
    def adds_hardware(self) -> bool:
        """Whether more of it, or of what changes with it, is more hardware: packages, cubes, PEs, channels, rates, memory."""
        return self.numeric and any(map(_adds_hardware, (self.column, *self.companions)))

    @property
    def unit(self) -> str | None:
        """The unit of a topology field; parameters of a bench have none."""
        return unit_of(self.column) if self.of_topology else None

    @property
    def title(self) -> str:
        """Its name with its unit, and the columns that change with it."""
        together = f" (with {', '.join(map(short_name, self.companions))})" if self.companions else ""
        return f"{title_of(self.column)}{together}"


def unit_of(column: str) -> str | None:
    """The unit in the words of a column's name."""
    words = column.rpartition(".")[2].split("_")
    return next((UNITS[word] for word in words if word in UNITS), None)


def title_of(column: str) -> str:
    """A column's name, with the unit if it is a topology field."""
    unit = unit_of(column) if column.startswith(TOPOLOGY) else None
    return f"{short_name(column)} ({unit})" if unit else short_name(column)


def find_cost(table: polars.DataFrame) -> Swept | None:
    """The cost axis of a design: the only topology field that makes the machine more expensive, if something else varies too.

    None if there are several, or if the work differs from point to point.
    """
    swept = find_swept(table)
    costs = [axis for axis in swept if axis.paid_for]
    return costs[0] if len(costs) == 1 and len(swept) > 1 and same_work(swept) else None


def same_work(swept: Sequence[Swept]) -> bool:
    """Whether all points do the same work: no numeric parameter of the bench varies."""
    return all(axis.of_topology or not axis.numeric for axis in swept)


def short_name(column: str) -> str:
    """The short form of a column's name."""
    return column.removeprefix(TOPOLOGY)


def find_swept(table: polars.DataFrame) -> list[Swept]:
    """The axes of a table, in the order of its columns; columns that change together are one axis, named by the first."""
    axes: list[tuple[str, list[str]]] = []
    for column in takewhile(lambda column: column not in COLUMNS, table.columns):  # derived columns follow the results
        if table[column].n_unique() < 2:
            continue
        twin = next((axis for axis in axes if _change_together(table, axis[0], column)), None)
        if twin:
            twin[1].append(column)
        else:
            axes.append((column, []))
    return [_swept(table, column, companions) for column, companions in axes]


def restrict(axes: Sequence[Swept], rows: polars.DataFrame) -> list[Swept]:
    """The axes with the values that they have in some rows; without those that have one value there."""
    found = [_swept(rows, axis.column, list(axis.companions)) for axis in axes]
    return [axis for axis in found if len(axis.values) > 1]


def _adds_hardware(column: str) -> bool:
    words = set(column.removeprefix(TOPOLOGY).replace(".", "_").split("_"))
    return column in MEMORIES or bool(words & (HARDWARE if column.startswith(TOPOLOGY) else BENCH_HARDWARE))


def _change_together(table: polars.DataFrame, one: str, other: str) -> bool:
    return table[one].n_unique() == table[other].n_unique() == table.select(one, other).n_unique()


def _swept(table: polars.DataFrame, column: str, companions: list[str]) -> Swept:
    values = tuple(table[column].unique(maintain_order=True))
    return Swept(column, tuple(companions), values, table[column].dtype.is_numeric())
