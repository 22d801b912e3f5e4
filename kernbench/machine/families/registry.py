"""The families of machines, by name.

A family is a folder here with six modules, each of which has one name for the registry: `spec.SPEC`, the model of its fields;
`expand.expand(spec, name, digest)`, their expansion into a machine; `places.SHAPE`, the counts and sizes that its part index
follows from; `dies.DIES`, its dies; `views.VIEWS`, its pictures by name, the largest section first; `symbols.SYMBOLS`, the
shapes of its parts in them. They are imported when they are needed: a machine of the compile cache needs its shape alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernbench.machine.dies import Actions, Dies
    from kernbench.machine.machine import Machine, MachineShape
    from kernbench.machine.symbols import Symbol
    from kernbench.machine.view import View
    from kernbench.parts.part import Part
    from kernbench.schema.model import Model


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of machine. `classes` replaces the standard classes of some parts, by field."""

    name: str
    classes: Mapping[str, type[Part]] = field(default_factory=dict[str, "type[Part]"])

    @property
    def spec(self) -> type[Model]:
        """The model of the fields of its topologies."""
        found: type[Model] = self._module("spec").SPEC
        return _spec_with(found, tuple(self.classes.items())) if self.classes else found

    def expand(self, spec: Model, name: str, digest: str) -> Machine:
        """The machine of a checked topology."""
        return self._module("expand").expand(spec, name, digest)

    @property
    def shape(self) -> type[MachineShape]:
        """The counts and sizes that the part index follows from."""
        return self._module("places").SHAPE

    @property
    def dies(self) -> Dies:
        """Its dies."""
        return self._module("dies").DIES

    @property
    def views(self) -> Mapping[str, Callable[[Machine], View]]:
        """Its pictures by name, the largest section first."""
        return self._module("views").VIEWS

    @property
    def symbols(self) -> Mapping[str | tuple[str, str], Symbol]:
        """The shape of each kind of node in pictures; by view and kind where one view has another."""
        return self._module("symbols").SYMBOLS

    def parts(self) -> dict[str, type[Part]]:
        """The standard class of each field that is a part."""
        from kernbench.parts.part import Part

        fields = {name: field.annotation for name, field in self.spec.model_fields.items()}
        return {name: kind for name, kind in fields.items() if isinstance(kind, type) and issubclass(kind, Part)}

    def kinds(self) -> dict[str, str]:
        """The kind of sheet of each field that is a part."""
        return {name: part.kind for name, part in self.parts().items()}

    def sheets(self) -> dict[str, str]:
        """The sheets of parts where a topology names none: the defaults of its field `parts`."""
        return dict(self.spec.model_fields["parts"].get_default(call_default_factory=True))

    def actions(self) -> Actions | None:
        """What jobs of parts do that are given in cycles alone; None: all jobs are given in actions."""
        return getattr(self._module("dies"), "ACTIONS", None)

    def with_parts(self, classes: Mapping[str, type[Part]]) -> Family:
        """The same family with other classes for some parts."""
        return Family(self.name, {**self.classes, **classes}) if classes else self

    def _module(self, name: str) -> Any:
        return import_module(f"{__package__}.{self.name}.{name}")


@lru_cache(maxsize=32)
def _spec_with(spec: type[Model], classes: tuple[tuple[str, type[Part]], ...]) -> type[Model]:
    from pydantic import create_model

    fields: dict[str, Any] = {name: (part, ...) for name, part in classes}
    return create_model(spec.__name__, __base__=spec, **fields)


FAMILIES: dict[str, Family] = {name: Family(name) for name in ("ascend", "mesh", "sip", "tensix")}


def may_vary(field: str) -> bool:
    """Whether only times follow from a field of a topology, in some family with standard parts (see `variants`)."""
    return field in _varying()


@cache
def _varying() -> frozenset[str]:
    """The fields of standard parts that are rates, or that alone decide a time."""
    parts = [(name, part) for family in FAMILIES.values() for name, part in family.parts().items()]
    derived = {f"{name}.{origin.field}" for name, part in parts for origin in part.origins().values()}
    return frozenset(derived | {f"{name}.{rate}" for name, part in parts for rate in part.rates()})
