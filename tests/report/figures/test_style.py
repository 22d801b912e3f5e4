"""Legends, notes and titles, and the files of a figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.report.figures import style


def test_a_figure_is_as_wide_as_the_page_and_grows_downwards() -> None:
    widths_and_heights = [tuple(style.new_panels(count)[0].get_size_inches()) for count in (1, 3, 4, 9)]
    assert {width for width, _ in widths_and_heights} == {style.PAGE}
    assert [height for _, height in widths_and_heights] == pytest.approx([4.2, 4.2, 6.1, 8.7])


def test_long_names_stand_below_the_axes_and_are_told_in_full(tmp_path: Path) -> None:
    name = "a_name_of_which_more_than_forty_letters_are_<left>_to_see"
    with style.look():
        figure = style.new_figure(3)
        (handle,) = figure.subplots().plot([1, 2], [1, 2])
        style.legend(figure, [handle], [name], "variant", remark="the fastest over K")
        svg, _ = style.save(figure, tmp_path / "figure")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a_name_of_which_more…s_are_<left>_to_see"]
    assert figure.get_figheight() == pytest.approx(3 + 3 * style.LEGEND_ROW)
    assert "<title>a_name_of_which_more_than_forty_letters_are_&lt;left&gt;_to_see</title>" in svg.read_text()
