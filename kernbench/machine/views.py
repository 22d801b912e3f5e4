"""The views of a machine, by name (see `families.registry`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.errors import InputError
from kernbench.machine.families.registry import FAMILIES

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.view import View


def list_views(machine: Machine) -> tuple[str, ...]:
    """The names of the views of a machine, from the largest to the smallest section."""
    return tuple(FAMILIES[machine.family].views)


def find_view(machine: Machine, name: str) -> View:
    """A view of a machine. Errors: InputError for a view that its family does not have."""
    views = FAMILIES[machine.family].views
    if name not in views:
        raise InputError(
            f"machine {machine.name} is of family {machine.family!r}, which has no view {name!r}; "
            f"it has {', '.join(views)}"
        )
    return views[name](machine)
