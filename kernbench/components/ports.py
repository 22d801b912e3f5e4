"""Ports of parts as their machine asks them, with what a drop-in may get wrong.

A standard part is right by construction and by tests; what somebody drops in is held here: what it raises, and what it
answers, told with the file and line of the port.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from kernbench.components.dropin import place
from kernbench.components.part import Part, is_number, plain
from kernbench.components.tiling import check_order, check_reads
from kernbench.errors import InputError, KernBenchError, suggest
from kernbench.user_modules import error_text, line_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernbench.components.costs import Amounts

MOST_FS = 1e18  # of one time: a quarter of an hour


def check(part: Part, standard: type[Part]) -> None:
    """Hold what a drop-in gives against what its kind may be.

    Errors: InputError with file:line for a port or a figure that raises, is no number or is out of the range of its kind.
    """
    for port in standard.ports:
        value = _call(part, port, lambda port=port: getattr(part, port))
        if port.endswith("_fs"):
            _check_number(part, port, value, MOST_FS)
        elif port in standard.model_fields:
            _check_field(part, port, value, standard.model_fields[port])
        elif not callable(value):
            raise InputError(f"{place(type(part), port)}: {_named(part, port)} is {value!r}; it must be a method")
    for way in ("read", "write"):
        slots = _call(part, "slots", lambda way=way: part.slots(way))
        if not isinstance(slots, Integral) or not 1 <= int(slots) <= 2**31:
            raise InputError(
                f"{place(type(part), 'slots')}: {_named(part, 'slots')} answered {slots!r}, expected at least 1"
            )
    found = figures(part)
    for name, value in found.items():
        _check_number(part, "figures", value, inf, f" gives {name!r} as")
    lacking = [name for name in standard.pays if name not in found]
    if lacking:
        raise InputError(
            f"{place(type(part), 'figures')}: {_named(part, 'figures')} lacks {', '.join(lacking)}; "
            f"derive the class from {standard.__name__}, or give them in fs"
        )


def figures(part: Part) -> dict[str, float]:
    """The figures of a part. Errors: InputError with file:line for a drop-in that raises, or answers no mapping."""
    found: Any = _call(part, "figures", part.figures)
    if not isinstance(found, Mapping):
        raise InputError(
            f"{place(type(part), 'figures')}: {_named(part, 'figures')}() answered {found!r}, "
            "expected numbers by name, such as {'cycle': 500000}"
        )
    return {name: plain(value) if is_number(value) else value for name, value in found.items()}


def find_cost(part: Part, method: str, given: tuple[Any, ...]) -> Amounts:
    """What a drop-in answers as a cost: amounts of its own figures, all of them finite and at least 0.

    Errors: InputError with file:line.
    """
    shown = f"{_named(part, method)}({', '.join(map(repr, given))})"
    found = _call(part, method, lambda: getattr(part, method)(*given), shown)
    known, at = figures(part), place(type(part), method)
    if not isinstance(found, Mapping):
        raise InputError(f"{at}: {shown} answered {found!r}, expected amounts of figures, such as {{'cycle': 12}}")
    for name, amount in found.items():
        if name not in known:
            raise InputError(f"{at}: {shown} answered the figure {name!r}, which it lacks{suggest(str(name), known)}")
        if not is_number(amount) or not 0 <= amount * known[name] <= MOST_FS:
            raise InputError(
                f"{at}: {shown} answered {amount!r} of {name!r}; an amount is a number of at least 0, "
                f"and takes {MOST_FS:g} fs at most"
            )
    return {name: plain(amount) for name, amount in found.items()}


def find_tile_order(part: Part, tiles: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The order of (m, k, n) tiles that a drop-in gives, and what each token reads. Errors: InputError with file:line."""
    order = _held(part, "order", tiles, lambda found: check_order(found, tiles))
    return order, _held(part, "reads", (order,), lambda found: check_reads(found, order))


def _held(part: Part, method: str, given: tuple[Any, ...], find_problem: Callable[[Any], str]) -> np.ndarray:
    shown = f"{_named(part, method)}({', '.join(map(repr, given)) if method == 'order' else 'order'})"
    found = _call(part, method, lambda: getattr(part, method)(*given), shown)
    if problem := find_problem(found):
        raise InputError(f"{place(type(part), method)}: {shown} must answer {problem}")
    return np.asarray(found)


def _call(part: Part, port: str, get: Callable[[], Any], shown: str = "") -> Any:
    """What a port answers. Errors: InputError with the line of the part's file that raised."""
    try:
        return get()
    except KernBenchError:
        raise
    except Exception as error:
        at = place(type(part), port)
        line = line_of(error, Path(at.rpartition(":")[0]).absolute())
        raise InputError(
            f"{line if line.rpartition(':')[2].isdigit() else at}: {shown or _named(part, port)} raised {error_text(error)}"
        ) from error


def _named(part: Part, port: str) -> str:
    return f"{type(part).__name__}.{port}"


def _check_number(part: Part, port: str, value: object, most: float, shown: str = " is") -> None:
    if not is_number(value) or not isfinite(value) or not 0 <= value <= most:  # pyright: ignore[reportArgumentType, reportOperatorIssue]
        limit = f" and at most {most:g}" if most < inf else ""
        raise InputError(
            f"{place(type(part), port)}: {_named(part, port)}{shown} {value!r}; expected a number of at least 0{limit}"
        )


def _check_field(part: Part, port: str, value: object, field: Any) -> None:
    from pydantic import TypeAdapter, ValidationError

    try:
        allowed: Any = Annotated[field.annotation, *field.metadata]
        TypeAdapter(allowed).validate_python(value)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].replace("Input should be", "expected").replace("Value error, ", "")
        raise InputError(f"{place(type(part), port)}: {_named(part, port)} is {value!r}; {reason}") from None
