"""The title of an axis of a sweep, and the texts of its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernbench.report.figures.ticks import tick_texts
from kernbench.report.tables.engineering import Quantity, quantity
from kernbench.sweep.results.swept_axes import Swept, short_name

if TYPE_CHECKING:
    import polars


def quantity_of(axis: Swept) -> Quantity:
    """How to show the values of a numeric axis."""
    return quantity(axis.column, axis.values)


def quantity_in(table: polars.DataFrame, column: str) -> Quantity:
    """How to show the values of a numeric column of a table."""
    return quantity(column, table[column].drop_nulls())


def axis_title(axis: Swept) -> str:
    """Its name with the unit of its values, and the columns that change with it."""
    title = quantity_of(axis).title if axis.numeric else short_name(axis.column)
    together = f" (with {', '.join(map(short_name, axis.companions))})" if axis.companions else ""
    return f"{title}{together}"


def value_texts(axis: Swept) -> list[str]:
    """The texts of its values, in order."""
    if not axis.numeric:
        return [str(value) for value in axis.in_order]
    return tick_texts(quantity_of(axis), axis.in_order)


def setting_text(axis: Swept, value: Any) -> str:
    """One value with the name of its axis, `N = 4` or `sram.bytes = 64 KiB`."""
    text = value_texts(axis)[axis.in_order.index(value)]
    unit = quantity_of(axis).common if axis.numeric else None
    return f"{short_name(axis.column)} = {text}{f' {unit}' if unit else ''}"
