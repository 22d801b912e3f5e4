"""The style and the files of plots: the same bytes for the same table on any computer.

Texts are drawn as they are: a dollar begins no formula. `save` makes all of them drawable, `shown` those that matplotlib
keeps as labels of ticks and entries of legends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kernbench.characters import visible
from kernbench.sweep.results.store import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, safe for colour-blind readers; orange before the paler ones.
CATEGORIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK, FAINT = "#333333", "#DDDDDD"
MARKERS = "osD^vPX"
HOLLOW: dict[str, Any] = {"markerfacecolor": "white"}  # of points that have only bounds
MOST_LINES = 12  # more cannot be distinguished, nor labelled beside the plot
TITLE_LETTERS = 9.5  # an inch
TITLE_LINES = 4  # more, in the lowest figure, leave no height to the axes
LABEL_LETTERS = (
    30  # of a value; more, in the legend of the narrowest figure, leave hardly half of its width to the axes
)
MOST_TICKS = 9  # more values than these get matplotlib's own ticks
MISSING = "\N{WHITE SQUARE}"  # for what the font has no glyph of

LOOK: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.dpi": 150,
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 10,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "savefig.bbox": "tight",
    "svg.fonttype": "path",
    "svg.hashsalt": "kernbench",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


@contextmanager
def look() -> Iterator[None]:
    """Use our style within the block, and ignore the user's matplotlibrc."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, setting in LOOK.items():
            matplotlib.rcParams[name] = setting  # pyright: ignore[reportArgumentType]
        yield


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write `stem`.svg and `stem`.png, without dates; returns their paths."""
    from matplotlib.text import Text

    for artist in figure.findobj(Text):
        assert isinstance(artist, Text)
        artist.set_text(drawable(artist.get_text()))
    paths = []
    for suffix, unstamped in ((".svg", {"Date": None}), (".png", {"Software": None})):
        path = stem.with_name(stem.name + suffix)
        write_whole(path, lambda file, unstamped=unstamped: figure.savefig(file, metadata=unstamped))
        paths.append(path)
    return paths


def discard(stem: Path) -> list[Path]:
    """Remove plots of an earlier table that this table has no plots for; returns no paths."""
    for suffix in (".svg", ".png"):
        stem.with_name(stem.name + suffix).unlink(missing_ok=True)
    return []


def colours(count: int, *, ordered: bool) -> list[Any]:
    """A colour for each of `count` lines: from dark to bright if they are ordered, else as different as possible."""
    import matplotlib

    if ordered and count > 1:
        shades = matplotlib.colormaps["viridis"]
        return [shades(0.88 * i / (count - 1)) for i in range(count)]
    return [CATEGORIES[i % len(CATEGORIES)] for i in range(count)]


def hollow_marker() -> Any:
    """The entry of a legend for points that have only bounds."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", marker=MARKERS[0], markersize=5, color=INK, **HOLLOW)


def head(figure: Figure, title: str) -> None:
    """Write a title over a figure, in as many lines as its width takes."""
    width = max(24, int(figure.get_figwidth() * TITLE_LETTERS))
    lines = wrap(title, width, max_lines=TITLE_LINES, placeholder=" ...")
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontweight="bold")


def scale(axes: Axes, which: str, values: Sequence[float], *, ticks: bool) -> None:
    """Make the x or y axis logarithmic if the values need it; with `ticks`, mark the values themselves."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    if is_logarithmic(values):
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    if ticks and len(values) <= MOST_TICKS:
        axis.set_major_locator(FixedLocator(sorted(values)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def is_logarithmic(values: Sequence[float]) -> bool:
    """Whether a logarithmic axis suits the values: they span a decade, or each is the same multiple of the last."""
    low, high = min(values), max(values)
    if low <= 0:
        return False
    ladder = sorted(set(values))
    ratios = [after / before for before, after in pairwise(ladder)]
    return high / low >= 10 or (len(ratios) > 1 and max(ratios) / min(ratios) < 1.01)


def time_unit(longest_ns: float) -> tuple[str, float]:
    """The unit in which to show times up to `longest_ns`, and how many ns it has."""
    for unit, nanoseconds in (("ms", 1e6), ("µs", 1e3)):
        if longest_ns >= 10 * nanoseconds:
            return unit, nanoseconds
    return "ns", 1.0


class Unit:
    """The unit in which a column is shown: a suitable one for times, else its own."""

    def __init__(self, column: str, values: Sequence[float]) -> None:
        self.size = 1.0
        self.title = column
        if column.endswith("_ns"):
            unit, self.size = time_unit(max(values))
            self.title = f"{column.removesuffix('_ns').replace('_', ' ')} ({unit})"


def shown(value: object) -> str:
    """A value as the label of a tick or a legend entry; a legend leaves out what is empty or begins with "_"."""
    if isinstance(value, float):
        return f"{value:,.6g}"
    text = drawable(visible(str(value)))
    text = text if len(text) <= LABEL_LETTERS else f"{text[: LABEL_LETTERS - 3]}..."
    return f" {text}" if text[:1] in ("", "_") else text


def drawable(text: str) -> str:
    """A text of one line or more with nothing that the font cannot draw."""
    lines = "\n".join(map(visible, text.split("\n")))
    return "".join(character if ord(character) in _glyphs() else MISSING for character in lines)


@cache
def _glyphs() -> frozenset[int]:
    """The characters of the font, and the end of a line."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset([ord("\n"), *get_font(findfont(LOOK["font.family"])).get_charmap()])
