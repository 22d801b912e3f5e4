"""Schema of one parameter of a grid: its values, or a span to draw from, and the condition on which it depends."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from kernbench.errors import shorten
from kernbench.schema.guards import is_list
from kernbench.schema.model import Model
from kernbench.sweep.grid.axis import Span, Value
from kernbench.sweep.grid.ranges import expand_range, spread
from kernbench.sweep.row import fits_column

FORMS = ("value", "values", "range", "linspace", "logspace", "min")


def _scalar(value: Any) -> Any:
    if isinstance(value, bool | int | float | str):
        return _fitting(value)
    raise ValueError(f"got {value!r}, expected a number, a text, true or false")


def _number(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _fitting(value)
    raise ValueError(f"got {value!r}, expected a number without a unit")


def _range(value: Any) -> tuple[Value, ...]:
    """The values of `16:128:x2`, or of a list of first, last and step, each with a unit or without."""
    if isinstance(value, str):
        return tuple(map(_fitting, expand_range(value)))
    if not is_list(value) or len(value) != 3:
        raise ValueError(f"got {value!r}, expected [first, last, step] or a text such as 16:128:x2")
    return tuple(map(_fitting, spread(*map(_quantity, value))))


def _quantity(value: Any) -> Any:
    return _fitting(value) if isinstance(value, str) else _number(value)


def _fitting(value: Any) -> Any:
    """The value, if a column of the table can hold it."""
    if not fits_column(value):
        raise ValueError(f"got {shorten(value)}, expected an integer of at most 64 bits")
    return value


Scalar = Annotated[Any, AfterValidator(_scalar)]
Quantity = Annotated[Any, AfterValidator(_quantity)]
Count = Annotated[int, Field(strict=True)]


class AxisSpec(Model):
    """One parameter, in exactly one of `FORMS`; `min` goes with `max` and `step`, or is the lower end of a span."""

    value: Scalar | None = None
    values: Annotated[list[Scalar], Field(min_length=1)] | None = None
    range: Annotated[Any, AfterValidator(_range)] = None
    linspace: tuple[Quantity, Quantity, Count] | None = None
    logspace: tuple[Quantity, Quantity, Count] | None = None
    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None
    scale: Literal["linear", "log"] | None = None
    when: str | None = None

    def expand(self, *, drawn: bool) -> tuple[Value, ...] | Span:
        """The values; where they are `drawn`, min and max without a step are a span. Errors: ValueError."""
        forms = [form for form in FORMS if getattr(self, form) is not None]
        if len(forms) != 1 or (forms != ["min"] and (self.max, self.step, self.scale) != (None, None, None)):
            raise ValueError("give exactly one of value, values, range, linspace, logspace, or min with max and step")
        if self.values is not None:
            return tuple(self.values)
        if self.range is not None:
            return self.range
        if self.linspace is not None:
            return spread(*self.linspace[:2], f"lin{self.linspace[2]}")
        if self.logspace is not None:
            return spread(*self.logspace[:2], f"log{self.logspace[2]}")
        if self.value is not None:
            return (self.value,)
        return self._span() if drawn and self.max is not None and self.step is None else self._stepped()

    def _span(self) -> Span:
        for end in (self.min, self.max):
            if isinstance(end, str):
                raise ValueError(
                    f"got {end!r}, expected a number without a unit, as values are drawn between min and max"
                )
        return Span(self.min, self.max, logarithmic=self.scale == "log")  # type: ignore[arg-type]

    def _stepped(self) -> tuple[Value, ...]:
        whole = isinstance(self.min, int) and isinstance(self.max, int)
        step = 1 if self.step is None and whole else self.step
        if self.min is None or self.max is None or step is None:
            raise ValueError("min goes with max and step; the step may be left out between integers")
        if self.scale is not None:
            raise ValueError("scale goes with min and max without a step, and with a method that draws; use logspace")
        return spread(self.min, self.max, step)
