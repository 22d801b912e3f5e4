"""Figures as objects: SVG that a notebook shows, and that is written to a file or opened in a browser elsewhere."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernbench.errors import InputError, RunError, suggest


class Picture:
    """What has an SVG; a notebook shows it where it is the value of a cell."""

    __slots__ = ()
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def show(self) -> None:
        """Show it: below the cell in a notebook, elsewhere in a browser. Errors: RunError if there is neither."""
        if (display := find_display()) is not None:
            display(self)
            return
        path = Path(tempfile.mkdtemp(prefix="kernbench-"), "figure.svg")  # stays: the browser reads it later
        if not webbrowser.open(self.write(path).as_uri()):
            raise RunError(
                "there is neither a notebook nor a browser to show a figure in; .write(path) keeps it as a file"
            )

    def write(self, path: str | Path) -> Path:
        """Write the SVG to a file. Errors: RunError if the disk refuses."""
        from kernbench.atomic_output import write_file

        write_file(Path(path), lambda file: file.write_text(self.svg, encoding="utf-8"))
        return Path(path)


@dataclass(frozen=True, slots=True, repr=False)
class Figure(Picture):
    """A figure of a table by its name, as the command line draws it."""

    name: str
    svg: str

    def __repr__(self) -> str:
        return f"<Figure {self.name}; .show(), .svg, .write(path)>"


def find_display() -> Callable[[object], Any] | None:
    """What shows an object below the cell of a notebook; None where no notebook runs this."""
    shell = sys.modules.get("IPython")
    if shell is None or shell.get_ipython() is None:
        return None
    from IPython.display import display  # pyright: ignore  # comes with what runs a notebook

    return display  # pyright: ignore


def draw_figures(draw: Callable[[Path], object]) -> dict[str, Figure]:
    """The figures that a function draws into a directory, by the names of their files."""
    with tempfile.TemporaryDirectory(prefix="kernbench-") as directory:
        draw(Path(directory))
        drawn = sorted(Path(directory).glob("*.svg"))
        return {path.stem: Figure(path.stem, path.read_text(encoding="utf-8")) for path in drawn}


def choose_figure(figures: Mapping[str, Figure], name: str) -> Figure:
    """One of some figures. Errors: InputError for a name of none."""
    if name not in figures:
        raise InputError(f"there is no figure {name!r}{suggest(name, figures)}")
    return figures[name]
