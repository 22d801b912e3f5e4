"""What may be chosen of a step: where tensors between launches lie, how a weight is cut, in how many parts attention is."""

from __future__ import annotations

from typing import Any, NamedTuple

from kernbench.errors import InputError, shorten, suggest
from kernbench.workloads.kernels.cuts import Cut, list_cuts


class Choices(NamedTuple):
    """One choice of each kind; None: what holds without one.

    `x`, `qkv`, `units` and `inner` are the PEs of each cube that hold the activations between layers, the rows of queries, keys
    and values, what attention leaves, and the inner features of the MLP. Fewer holders are asked by fewer reads, each longer.
    """

    x: int | None = None
    qkv: int | None = None
    units: int | None = None
    inner: int | None = None
    down: Cut | None = None  # of the weight after the inner features
    splits: int | None = None  # of the context of a sequence and a head
    spread: bool | None = None  # whether the rows of queries, keys and values are brought to all cubes before attention

    def tell(self) -> str:
        """As `read_choices` reads them."""
        given = {name: value for name, value in self._asdict().items() if value is not None}
        return ",".join(f"{name}={tell_choice(value)}" for name, value in given.items())


WITHOUT = Choices()
HELD = ("x", "qkv", "units", "inner")


def tell_choice(value: Any) -> str:
    """A value of a choice in writing."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def read_choices(text: str, name: str, cubes: int, pes: int) -> Choices:
    """Choices from a text: "x=2,down=16x1,splits=4". `name` is that of the network, `cubes` and `pes` are those of a SIP.

    Errors: InputError for an unknown choice, or a value that it cannot have.
    """
    found: dict[str, Any] = {}
    for part in filter(None, text.replace(" ", "").split(",")):
        field, _, value = part.partition("=")
        if field not in Choices._fields:
            raise InputError(
                f"{name} got choices={shorten(repr(text))}: {field!r} is no choice{suggest(field, Choices._fields)}"
            )
        if field in found:
            raise InputError(f"{name} got choices={shorten(repr(text))}: {field} is given twice; give it once")
        known = list_values(field, cubes, pes)
        chosen = next((one for one in known if tell_choice(one) == value), None)
        if chosen is None and field == "splits" and value.isdecimal() and int(value):
            chosen = int(value)
        if chosen is None:
            values = ", ".join(map(tell_choice, known)) or "1 or more"
            raise InputError(f"{name} got choices={shorten(repr(text))}: {field} cannot be {value!r}; give {values}")
        found[field] = chosen
    return Choices(**found)


def list_values(field: str, cubes: int, pes: int) -> list[Any]:
    """The values that a choice may have on a SIP of some cubes of PEs; those of splits follow from the context."""
    if field in HELD:
        return [held for held in range(1, pes + 1) if pes % held == 0]
    if field == "spread":
        return [True, False]
    return list(list_cuts(cubes, pes)) if field == "down" else []
