"""Checks of drop-ins at their ports.

Standard parts are checked by tests. Of a drop-in every value of a port is checked here when it is used; an error names the
file and line of the port.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np

from kernbench.errors import InputError, KernBenchError, error_text, suggest
from kernbench.parts.dropin import place
from kernbench.parts.part import Part, is_number, plain
from kernbench.parts.tiling import check_order, check_reads
from kernbench.user_modules import line_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernbench.parts.costs import Amounts

MOST_FS = 1e18  # the longest time: a quarter of an hour


def check(part: Part, standard: type[Part]) -> None:
    """Check the values of a drop-in's ports and its figures against its kind.

    Errors: InputError with file:line for a port or a figure that raises, or that is not a number in the range of its kind.
    """
    for port in standard.ports:
        value = _call(part, port, lambda port=port: getattr(part, port))
        if port.endswith("_fs"):
            _check_number(part, port, value, MOST_FS)
        elif port in standard.model_fields:
            _check_field(part, port, value, standard.model_fields[port])
        elif not callable(value):
            raise InputError(f"{place(type(part), port)}: {_name(part, port)} is {value!r}; it must be a method")
    for way in ("read", "write"):
        slots = _call(part, "slots", lambda way=way: part.slots(way))
        if not isinstance(slots, Integral) or not 1 <= int(slots) <= 2**31:
            raise InputError(
                f"{place(type(part), 'slots')}: {_name(part, 'slots')} answered {slots!r}, expected at least 1"
            )
    found = figures(part)
    for name, value in found.items():
        _check_number(part, "figures", value, inf, f" gives {name!r} as")
    lacking = [name for name in standard.pays if name not in found]
    if lacking:
        raise InputError(
            f"{place(type(part), 'figures')}: {_name(part, 'figures')} lacks {', '.join(lacking)}; "
            f"derive the class from {standard.__name__}, or give them in fs"
        )


def figures(part: Part) -> dict[str, float]:
    """The figures of a part. Errors: InputError with file:line for a drop-in that raises or returns no mapping."""
    found = _call(part, "figures", part.figures)
    if not isinstance(found, Mapping):
        raise InputError(
            f"{place(type(part), 'figures')}: {_name(part, 'figures')}() answered {found!r}, "
            "expected numbers by name, such as {'cycle': 500000}"
        )
    given = cast("Mapping[str, Any]", found)
    return {name: plain(value) if is_number(value) else value for name, value in given.items()}


def find_cost(part: Part, method: str, arguments: tuple[Any, ...]) -> Amounts:
    """The cost that a method of a drop-in returns: amounts of its own figures, each finite and at least 0.

    Errors: InputError with file:line.
    """
    shown = f"{_name(part, method)}({', '.join(map(repr, arguments))})"
    found = _call(part, method, lambda: getattr(part, method)(*arguments), shown)
    known, at = figures(part), place(type(part), method)
    if not isinstance(found, Mapping):
        raise InputError(f"{at}: {shown} answered {found!r}, expected amounts of figures, such as {{'cycle': 12}}")
    amounts = cast("Mapping[str, Any]", found)
    for name, amount in amounts.items():
        if name not in known:
            raise InputError(f"{at}: {shown} answered the figure {name!r}, which it lacks{suggest(str(name), known)}")
        if not is_number(amount) or not 0 <= amount * known[name] <= MOST_FS:
            raise InputError(
                f"{at}: {shown} answered {amount!r} of {name!r}; an amount is a number of at least 0, "
                f"and takes {MOST_FS:g} fs at most"
            )
    return {name: plain(amount) for name, amount in amounts.items()}


def find_tile_order(part: Part, tiles: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The order of (m, k, n) tiles of a drop-in, and the reads of each token. Errors: InputError with file:line."""
    order = _check_array(part, "order", tiles, lambda found: check_order(found, tiles))
    return order, _check_array(part, "reads", (order,), lambda found: check_reads(found, order))


def _check_array(part: Part, method: str, arguments: tuple[Any, ...], find_problem: Callable[[Any], str]) -> np.ndarray:
    shown = f"{_name(part, method)}({', '.join(map(repr, arguments)) if method == 'order' else 'order'})"
    found = _call(part, method, lambda: getattr(part, method)(*arguments), shown)
    if problem := find_problem(found):
        raise InputError(f"{place(type(part), method)}: {shown} must answer {problem}")
    return np.asarray(found)


def _call(part: Part, port: str, get: Callable[[], Any], shown: str = "") -> Any:
    """The value of a port. Errors: InputError with the line of the part's file that raised."""
    try:
        return get()
    except KernBenchError:
        raise
    except (Exception, SystemExit) as error:  # a user's part may raise anything
        at = place(type(part), port)
        line = line_of(error, Path(at.rpartition(":")[0]).absolute())
        raise InputError(
            f"{line if line.rpartition(':')[2].isdigit() else at}: {shown or _name(part, port)} raised {error_text(error)}"
        ) from error


def _name(part: Part, port: str) -> str:
    return f"{type(part).__name__}.{port}"


def _check_number(part: Part, port: str, value: object, most: float, shown: str = " is") -> None:
    if not is_number(value) or not isfinite(value) or not 0 <= value <= most:
        limit = f" and at most {most:g}" if most < inf else ""
        raise InputError(
            f"{place(type(part), port)}: {_name(part, port)}{shown} {value!r}; expected a number of at least 0{limit}"
        )


def _check_field(part: Part, port: str, value: object, field: Any) -> None:
    from pydantic import TypeAdapter, ValidationError

    try:
        allowed: Any = Annotated[field.annotation, *field.metadata]
        TypeAdapter(allowed).validate_python(value)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].replace("Input should be", "expected").replace("Value error, ", "")
        raise InputError(f"{place(type(part), port)}: {_name(part, port)} is {value!r}; {reason}") from None
