"""The style and the files of plots: the same bytes for the same table on any computer.

Texts are drawn as they are: a dollar begins no formula. `save` makes all of them drawable, `shown` those that matplotlib
keeps as labels of ticks and entries of legends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from io import StringIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kernbench.characters import visible
from kernbench.report.colours import FAINT, INK
from kernbench.report.figures.label_fitting import settle, shorten, tell_in_full, with_titles
from kernbench.report.tables.engineering import number
from kernbench.sweep.results.store import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = 7.5  # inches, the width of every figure; what needs more room grows downwards
ROW = 2.6  # inches, the height of a row of panels
LOWEST = 4.2  # inches, the height of a figure with one row
PANELS = 3  # in a row
LEGEND_ROW = 0.2  # inches
MARKERS = "osD^vPX"
HOLLOW: dict[str, Any] = {"markerfacecolor": "white"}  # of points that have only bounds
MOST_LINES = 12  # more cannot be distinguished, nor labelled beside the plot
TITLE_LETTERS = 10.5  # an inch
NOTE_LETTERS = 15.5  # an inch
TITLE_LINES = 4  # more, in the lowest figure, leave no height to the axes
LABEL_LETTERS = 40  # of a value
BESIDE_LETTERS = 18  # of the labels of a legend beside the axes; longer ones stand below
MARKER_LETTERS = 8  # the width of the sample beside a label
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
    "font.size": 9,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
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


def new_figure(height: float) -> Figure:
    """An empty figure of the page's width and a height in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(PAGE, height), layout="constrained")


def new_panels(count: int, *, most: int = PANELS, height: float = ROW, **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure with some panels, at most `most` in a row of a height in inches; `shared` are arguments of `subplots`."""
    columns = min(count, most)
    rows = -(-count // columns)
    figure = new_figure(0.9 + height * rows if rows > 1 else max(0.9 + height, LOWEST))
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for i in range(count, grid.size):
        grid.flat[i].remove()
        grid.flat[i - columns].tick_params(labelbottom=True)
    return figure, list(grid.flat[:count])


def save(figure: Figure, stem: Path) -> list[Path]:
    """Lay a figure out and write `stem`.svg and `stem`.png, without dates; returns their paths."""
    _lay_out(figure)
    paths = [stem.with_name(stem.name + suffix) for suffix in (".svg", ".png")]
    write_whole(paths[0], lambda file: _write_svg(figure, file))
    write_whole(paths[1], lambda file: figure.savefig(file, metadata={"Software": None}))
    return paths


def to_svg(figure: Figure) -> str:
    """Lay a figure out; returns its SVG, without dates."""
    _lay_out(figure)
    drawn = StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return with_titles(drawn.getvalue())


def _lay_out(figure: Figure) -> None:
    from matplotlib.text import Text

    for artist in figure.findobj(Text):
        assert isinstance(artist, Text)
        artist.set_text(drawable(artist.get_text()))
    settle(figure)


def _write_svg(figure: Figure, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})
    drawn = path.read_text(encoding="utf-8")
    titled = with_titles(drawn)
    if titled != drawn:
        path.write_text(titled, encoding="utf-8")


def discard(stem: Path) -> list[Path]:
    """Remove plots of an earlier table that this table has no plots for; returns no paths."""
    for suffix in (".svg", ".png"):
        stem.with_name(stem.name + suffix).unlink(missing_ok=True)
    return []


def hollow_marker() -> Any:
    """The entry of a legend for points that have only bounds."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", marker=MARKERS[0], markersize=5, color=INK, **HOLLOW)


def label_across(panels: Sequence[Axes], title: str) -> None:
    """Write the title of the horizontal axis under the lowest panels, which have the labels of ticks."""
    for axes in panels:
        if axes.xaxis.get_tick_params().get("labelbottom", True):
            axes.set_xlabel(title)


def head(figure: Figure, title: str) -> None:
    """Write a title over a figure, in as many lines as its width takes."""
    lines = wrap(title, int(figure.get_figwidth() * TITLE_LETTERS), max_lines=TITLE_LINES, placeholder=" …")
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontweight="bold")
    _grow(figure, len(lines) - 1)


def note(figure: Figure, text: str) -> None:
    """Write a remark below everything else of a figure, which grows by its lines."""
    lines = _note_lines(text)
    figure.legend([], [], title="\n".join(lines), title_fontsize="small", loc="outside lower left", borderaxespad=0.2)
    _grow(figure, len(lines))


def legend(
    figure: Figure,
    handles: Sequence[Any],
    names: Sequence[str],
    title: str = "",
    *,
    remark: str = "",
    beside: bool = True,
) -> None:
    """Draw a legend and a remark: below the axes, where the figure grows by its rows, or beside them if its texts are short.

    Without handles there is only the remark.
    """
    if not handles or (beside and max(map(len, names)) <= BESIDE_LETTERS):
        if remark:
            note(figure, remark)
        if handles:
            heading = title.replace(" (", "\n(").replace(".", ".\n") if len(title) > BESIDE_LETTERS else title
            _legend(figure, handles, names, heading, "outside right center", 1)
        return
    columns = max(1, int(PAGE * NOTE_LETTERS / (max(map(len, map(shown, names))) + MARKER_LETTERS)))
    heading = [*_note_lines(remark), *_note_lines(title)]
    _legend(figure, handles, names, "\n".join(heading), "outside lower left", columns)
    _grow(figure, len(heading) + -(-len(names) // columns))


def _legend(figure: Figure, handles: Sequence[Any], names: Sequence[str], title: str, where: Any, columns: int) -> None:
    made = figure.legend(
        handles,
        list(map(shown, names)),
        title=title or None,
        loc=where,
        alignment="left",
        ncols=columns,
        fontsize="small",
        title_fontsize="small",
    )
    tell_in_full(made.get_texts(), list(map(visible, names)))


def _note_lines(text: str) -> list[str]:
    return wrap(drawable(text), int(PAGE * NOTE_LETTERS))


def _grow(figure: Figure, lines: int) -> None:
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW * lines)


def name_ticks(axes: Axes, which: str, values: Sequence[Any]) -> None:
    """Ticks at 0, 1, 2 … with the values as names."""
    from matplotlib.ticker import FixedFormatter, FixedLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(range(len(values))))
    axis.set_major_formatter(FixedFormatter(list(map(shown, values))))
    tell_in_full(axis.get_majorticklabels(), [visible(str(value)) for value in values])


def panel_title(axes: Axes, text: str, columns: int) -> None:
    """Write the title of one of some panels in a row, shortened to its width."""
    letters = int(PAGE * TITLE_LETTERS / columns)
    made = axes.set_title(shorten(drawable(text), letters))
    tell_in_full([made], [visible(text)])


def shown(value: object) -> str:
    """A value as the label of a tick or a legend entry; a legend leaves out what is empty or begins with "_"."""
    if isinstance(value, float):
        return number(value)
    text = shorten(drawable(visible(str(value))), LABEL_LETTERS)
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
