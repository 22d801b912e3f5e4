"""One colour for one thing, and other colours for other things."""

from __future__ import annotations

from kernbench.report import colours
from kernbench.report.swept_axes import find_swept
from tests.report.tables import table


def test_axes_have_colours_of_their_own() -> None:
    swept = find_swept(table(lambda *_: 1.0, M=[1, 2], kind=["a", "b", "c"], N=[1, 2, 3], root=["x", "y"]))
    shades = {axis.column: colours.of_axis(swept, axis) for axis in swept}
    assert shades["kind"] + shades["root"] == list(colours.CATEGORIES[:5])
    assert not set(shades["M"]) & set(shades["N"])
    assert [len(shades[axis.column]) for axis in swept] == [len(axis.values) for axis in swept]


def test_the_front_has_a_colour_of_no_category() -> None:
    assert colours.FRONT not in colours.CATEGORIES
    assert len(set(colours.CATEGORIES)) == len(colours.CATEGORIES)


def test_names_keep_their_colours() -> None:
    assert colours.of_names(["b", "a", "b"]) == dict(zip("ba", colours.CATEGORIES, strict=False))
    assert len(colours.of_names(map(str, range(40)))) == 40
