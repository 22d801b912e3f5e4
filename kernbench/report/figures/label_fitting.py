"""Labels that fit: long names shortened in the middle, names at ticks turned, numbers at ticks that would overlap left out.

An SVG tells a shortened name in full where one points at it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

FULL = "in full: "  # before a name in full, as the id of its group in an SVG
BETWEEN_PT = 3.0  # between the labels of neighbouring ticks
TURNED = 35.0  # degrees
TURNED_LETTERS = 24  # of a turned name; more leave too little height to the axes
_GROUP = re.compile(rf'<g id="{FULL}([^"]*)">')


def shorten(text: str, letters: int) -> str:
    """A text of some letters at most, with "…" in its middle if it was longer: names often differ at their ends."""
    if len(text) <= letters:
        return text
    end = (letters - 1) // 2
    return f"{text[: letters - 1 - end]}…{text[len(text) - end :]}"


def tell_in_full(artists: Sequence[Text], texts: Sequence[str]) -> None:
    """Keep the full texts of artists that show less."""
    for artist, text in zip(artists, texts, strict=True):
        if artist.get_text() != text:
            artist.set_gid(FULL + text)


def with_titles(svg: str) -> str:
    """An SVG of matplotlib whose shortened texts have their full ones as titles."""
    return _GROUP.sub(lambda found: f"<g><title>{found[1]}</title>", svg)


def settle(figure: Figure) -> None:
    """Lay a figure out for good, and mend ticks whose labels overlap: names are turned, numbers are left out."""
    from matplotlib.ticker import FixedFormatter, FixedLocator

    figure.draw_without_rendering()
    turned: list[tuple[Axis, list[str]]] = []
    thinned: dict[Any, tuple[Axis, list[float]]] = {}  # by locator, which panels may share
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        labels = [tick.label1 for tick in axis.get_major_ticks() if tick.label1.get_visible()]
        seen = _seen(axis, [label for label in labels if label.get_text()])
        if not any(_meet(one, other) for (_, one), (_, other) in pairwise(seen)):
            continue
        if isinstance(axis.get_major_formatter(), FixedFormatter):
            turned.append((axis, [(label.get_gid() or label.get_text()).removeprefix(FULL) for label in labels]))
        else:
            thinned[axis.get_major_locator()] = axis, _apart(seen)
    for axis, places in thinned.values():
        axis.set_major_locator(FixedLocator(places))
    for axis, names in turned:
        _turn(axis, names)
    if turned or thinned:
        figure.draw_without_rendering()
    figure.set_layout_engine("none")


def _seen(axis: Axis, labels: Sequence[Text]) -> list[tuple[float, Bbox]]:
    """The place and the extent of each label, in the order of the axis."""
    from matplotlib.axis import XAxis

    at = 0 if isinstance(axis, XAxis) else 1
    low, high = sorted(axis.get_view_interval())
    found = [(float(label.get_position()[at]), label.get_window_extent()) for label in labels]
    return sorted(((place, box) for place, box in found if low <= place <= high), key=lambda one: one[0])


def _apart(inside: Sequence[tuple[float, Bbox]]) -> list[float]:
    """The places of the labels that have room, from the first to the last."""
    kept = [inside[0]]
    last = inside[-1]
    for one in inside[1:-1]:
        if not _meet(kept[-1][1], one[1]) and not _meet(one[1], last[1]):
            kept.append(one)
    return [place for place, _ in kept] + ([] if _meet(kept[-1][1], last[1]) else [last[0]])


def _meet(one: Bbox, other: Bbox) -> bool:
    return min(one.x1, other.x1) + BETWEEN_PT > max(one.x0, other.x0) and min(one.y1, other.y1) > max(one.y0, other.y0)


def _turn(axis: Axis, names: Sequence[str]) -> None:
    """Turn the names at the ticks of an axis, and shorten what is too long even so."""
    from matplotlib.ticker import FixedFormatter

    shown = [label.get_text() for label in axis.get_majorticklabels()]
    axis.set_major_formatter(FixedFormatter([shorten(text, TURNED_LETTERS) for text in shown]))
    labels = axis.get_majorticklabels()
    for label in labels:
        label.set(rotation=TURNED, ha="right", rotation_mode="anchor")
    tell_in_full(labels, names)
