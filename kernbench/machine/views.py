"""The views of each family of machines, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kernbench.errors import InputError
from kernbench.machine.ascend_views import chip_view, cluster_view
from kernbench.machine.mesh_views import network_view
from kernbench.machine.sip_views import cube_view, pe_view, sip_view, system_view
from kernbench.machine.tensix_views import tensix_view

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.view import View

VIEWS: dict[str, dict[str, Callable[[Machine], View]]] = {
    "ascend": {"system": chip_view, "cluster": cluster_view},
    "mesh": {"system": network_view},
    "sip": {
        "system": system_view,
        "sip": sip_view,
        "cube": cube_view,
        "pe": pe_view,
    },
    "tensix": {"system": tensix_view},
}


def list_views(machine: Machine) -> tuple[str, ...]:
    """The names of the views of a machine, from the largest to the smallest section."""
    return tuple(VIEWS[machine.family])


def find_view(machine: Machine, name: str) -> View:
    """A view of a machine. Errors: InputError for a view that its family does not have."""
    views = VIEWS[machine.family]
    if name not in views:
        raise InputError(
            f"machine {machine.name} is of family {machine.family!r}, which has no view {name!r}; "
            f"it has {', '.join(views)}"
        )
    return views[name](machine)
