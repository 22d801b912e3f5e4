"""`kernbench.diagram`: a machine to scale, as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernbench.api.figure import Picture
from kernbench.machine import load_machine
from kernbench.machine.views import find_view, list_views
from kernbench.report.diagram import draw_view


@dataclass(frozen=True, slots=True, repr=False)
class Diagram(Picture):
    """A view of a machine; a notebook shows the picture."""

    topology: str
    view: str
    svg: str

    def __repr__(self) -> str:
        return f"<Diagram of {self.topology}, view {self.view}; .show(), .svg, .write(path)>"


def diagram(
    topology: str | Path = "sip_2x4x4",
    view: str | None = None,
    *,
    overrides: Mapping[str, object] | None = None,
    bandwidths: bool = False,
) -> Diagram:
    """Draw a view of a machine: "system" (the default), and of most families others, such as "sip", "cube" and "pe".

    With `bandwidths` each link is labelled with its GB/s. Errors: InputError for an unknown topology, field or view.
    """
    machine = load_machine(topology, overrides)
    name = list_views(machine)[0] if view is None else view
    return Diagram(machine.name, name, draw_view(machine, find_view(machine, name), bandwidths=bandwidths))
