"""The families of machines: what a topology may name, and what turns its fields into a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernbench.components.part import Part
from kernbench.machine import mesh, sip
from kernbench.machine.machine import Machine
from kernbench.machine.sip_spec import SipSpec
from kernbench.spec.model import Model


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of machine: the model of its fields, and its expansion (spec, name, digest) → machine."""

    spec: type[Model]
    expand: Callable[[Any, str, str], Machine]

    def kinds(self) -> dict[str, str]:
        """The kind of sheet for each part among the fields."""
        parts = {name: field.annotation for name, field in self.spec.model_fields.items()}
        return {name: kind.kind for name, kind in parts.items() if isinstance(kind, type) and issubclass(kind, Part)}


FAMILIES: dict[str, Family] = {"mesh": Family(mesh.MeshSpec, mesh.expand), "sip": Family(SipSpec, sip.expand)}
