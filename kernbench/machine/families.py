"""The families of machines: for each, the model of its fields and the function that expands them into a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from pydantic import create_model

from kernbench.components.part import Part
from kernbench.machine.ascend import expand_ascend
from kernbench.machine.ascend_spec import AscendSpec
from kernbench.machine.machine import Machine
from kernbench.machine.mesh import MeshSpec, expand_mesh
from kernbench.machine.sip import expand_sip
from kernbench.machine.sip_spec import SipSpec
from kernbench.machine.tensix import expand_tensix
from kernbench.machine.tensix_spec import TensixSpec
from kernbench.schema.model import Model


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of machine: the model of its fields, and its expansion (spec, name, digest) → machine."""

    spec: type[Model]
    expand: Callable[[Any, str, str], Machine]

    def parts(self) -> dict[str, type[Part]]:
        """The standard class of each field that is a part."""
        fields = {name: field.annotation for name, field in self.spec.model_fields.items()}
        return {name: kind for name, kind in fields.items() if isinstance(kind, type) and issubclass(kind, Part)}

    def kinds(self) -> dict[str, str]:
        """The kind of sheet of each field that is a part."""
        return {name: part.kind for name, part in self.parts().items()}

    def with_parts(self, classes: Mapping[str, type[Part]]) -> Family:
        """The same family with other classes for some parts."""
        return Family(_spec_with(self.spec, tuple(classes.items())), self.expand) if classes else self


@lru_cache(maxsize=32)
def _spec_with(spec: type[Model], classes: tuple[tuple[str, type[Part]], ...]) -> type[Model]:
    fields: dict[str, Any] = {name: (part, ...) for name, part in classes}
    return create_model(spec.__name__, __base__=spec, **fields)


FAMILIES: dict[str, Family] = {
    "ascend": Family(AscendSpec, expand_ascend),
    "mesh": Family(MeshSpec, expand_mesh),
    "sip": Family(SipSpec, expand_sip),
    "tensix": Family(TensixSpec, expand_tensix),
}


def may_vary(field: str) -> bool:
    """Whether only times follow from a field of a topology, in some family with standard parts (see `variants`)."""
    return field in _varying()


@cache
def _varying() -> frozenset[str]:
    """The fields of standard parts that are rates, or that alone decide a time."""
    parts = [(name, part) for family in FAMILIES.values() for name, part in family.parts().items()]
    derived = {f"{name}.{origin.field}" for name, part in parts for origin in part.origins().values()}
    return frozenset(derived | {f"{name}.{rate}" for name, part in parts for rate in part.rates()})
