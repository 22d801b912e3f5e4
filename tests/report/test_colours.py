"""One colour for one thing, and other colours for other things."""

from __future__ import annotations

from kernbench.report import colours
from kernbench.sweep.results.swept_axes import find_swept
from tests.report.sample_tables import table


def test_axes_have_colours_of_their_own() -> None:
    swept = find_swept(table(lambda *_: 1.0, M=[1, 2], kind=["a", "b", "c"], N=[1, 2, 3], root=["x", "y"]))
    shades = {axis.column: colours.of_axis(swept, axis) for axis in swept}
    assert shades["kind"] + shades["root"] == list(colours.CATEGORIES[:5])
    assert not set(shades["M"]) & set(shades["N"])
    assert [len(shades[axis.column]) for axis in swept] == [len(axis.values) for axis in swept]


def test_views_of_a_page_have_the_colours_of_its_figures() -> None:
    swept = find_swept(table(lambda *_: 1.0, M=[1, 2], kind=["a", "b", "c"], N=[1, 2, 3], on=[True, False]))
    told = colours.tell_axes(swept)
    for axis in swept:
        own = told[axis.column]
        if axis.numeric:
            assert isinstance(own, list)
            drawn = colours.of_axis(swept, axis)
            assert (drawn[0], drawn[-1]) == (own[0], own[-1])
        else:
            assert isinstance(own, dict)
            assert list(own.values()) == colours.of_axis(swept, axis)
    assert list(told["kind"]) == ["a", "b", "c"]
    assert set(told["on"]) == {"true", "false"}  # as tables of pages write them


def test_a_ramp_goes_through_its_stops() -> None:
    assert colours.ramp(7, 1) == list(colours.RAMPS[1])
    assert colours.ramp(2) == [colours.RAMPS[0][0], colours.RAMPS[0][-1]]
    assert colours.ramp(1) == [colours.RAMPS[0][0]]
    assert colours.ramp(3, len(colours.RAMPS)) == colours.ramp(3)


def test_the_front_has_a_colour_of_no_category() -> None:
    assert colours.FRONT not in colours.CATEGORIES
    assert len(set(colours.CATEGORIES)) == len(colours.CATEGORIES)


def test_names_keep_their_colours() -> None:
    assert colours.of_names(["b", "a", "b"]) == dict(zip("ba", colours.CATEGORIES, strict=False))
    assert len(colours.of_names(map(str, range(40)))) == 40
