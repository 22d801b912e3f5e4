"""A small writer of SVG: shapes and texts in pixels, the same bytes for the same calls.

Texts stay texts, so they can be searched and copied; a shape may have a tooltip.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from kernbench.characters import visible

FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_WIDTH_EM = 0.56  # of a letter, on average over these fonts; a little more than most texts need

Point = tuple[float, float]


def text_width(text: str, size: float) -> float:
    """The approximate width of a line of text."""
    return _WIDTH_EM * size * len(text)


class Svg:
    """An SVG document under construction."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self._lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
            f'viewBox="0 0 {_n(width)} {_n(height)}" font-family="{FONTS}" role="img">',
            f"<title>{_text(title)}</title>",
        ]
        self.rect(0, 0, width, height, "#FFFFFF", "none")

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        edge: str,
        *,
        line: float = 1.0,
        radius: float = 0.0,
        dash: str = "",
        tip: str = "",
    ) -> None:
        """Draw a rectangle from its upper left corner."""
        rounded = f' rx="{_n(radius)}"' if radius else ""
        shape = f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"{rounded}'
        self._shape(shape, "rect", fill, edge, line, dash, tip)

    def circle(
        self, x: float, y: float, radius: float, fill: str, edge: str, *, line: float = 1.0, tip: str = ""
    ) -> None:
        """Draw a circle around its centre."""
        shape = f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"'
        self._shape(shape, "circle", fill, edge, line, "", tip)

    def polyline(self, points: Sequence[Point], edge: str, *, line: float = 1.0, dash: str = "", tip: str = "") -> None:
        """Draw straight lines from point to point, with round corners."""
        drawn = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        shape = f'<polyline points="{drawn}" stroke-linejoin="round" stroke-linecap="round"'
        self._shape(shape, "polyline", "none", edge, line, dash, tip)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        *,
        fill: str = "#222222",
        anchor: str = "middle",
        bold: bool = False,
    ) -> None:
        """Draw one line of text, its middle at height `y`; `anchor` is start, middle or end."""
        weight = ' font-weight="bold"' if bold else ""
        place = f'<text x="{_n(x)}" y="{_n(y + 0.35 * size)}" font-size="{_n(size)}" text-anchor="{anchor}"{weight}'
        self._lines.append(f'{place} fill="{fill}">{_text(text)}</text>')

    def render(self) -> str:
        """The whole document."""
        return "\n".join([*self._lines, "</svg>", ""])

    def _shape(self, shape: str, name: str, fill: str, edge: str, line: float, dash: str, tip: str) -> None:
        stroke = f' stroke="{edge}" stroke-width="{_n(line)}"' if edge != "none" else ""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        end = f"><title>{_text(tip)}</title></{name}>" if tip else "/>"
        self._lines.append(f'{shape} fill="{fill}"{stroke}{dashes}{end}')


def _text(text: str) -> str:
    return escape(visible(text))


def _n(value: float) -> str:
    """A number with two decimals at most; never -0."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")
