"""Points and mistakes in them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from kernbench.analytic.points import read_points
from kernbench.errors import InputError

BASE = {"noc.gbs": 256.0, "ucie.overhead_ns": 8.0}
KNOWN = {*BASE, "ucie.gbs", "hbm.channel_gbs"}


@pytest.mark.parametrize("kind", [dict, pl.DataFrame])
def test_fields_left_out_are_as_they_are(kind):
    values, count = read_points(kind({"noc.gbs": [1, 2, 3], "ucie.gbs": [4, 5, 6]}), BASE, KNOWN)
    assert count == 3
    assert {field: array.tolist() for field, array in values.items()} == {
        "noc.gbs": [1, 2, 3],
        "ucie.overhead_ns": [8, 8, 8],
    }


def test_one_value_is_for_all():
    values, count = read_points({"noc.gbs": np.arange(1, 3), "ucie.overhead_ns": 0}, BASE, KNOWN)
    assert count == 2
    assert values["ucie.overhead_ns"].tolist() == [0, 0]
    assert read_points({}, BASE, KNOWN)[1] == 1
    assert read_points({"noc.gbs": []}, BASE, KNOWN)[1] == 0


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        (
            {"hbm.chanel_gbs": 3},
            "points vary 'hbm.chanel_gbs', which bounds do not follow; did you mean 'hbm.channel_gbs'?",
        ),
        ({"noc.gbs": [1, 0]}, "points give 'noc.gbs' the value 0; it must be more than 0"),
        ({"ucie.overhead_ns": -1}, "points give 'ucie.overhead_ns' the value -1; it must be at least 0"),
        ({"noc.gbs": float("nan")}, "points give 'noc.gbs' the value nan; it must be more than 0"),
        ({"noc.gbs": [[1]]}, "points give 'noc.gbs' in 2 dimensions; give one value a point"),
        (
            {"noc.gbs": [1, 2], "ucie.gbs": [1, 2, 3]},
            "points give 2 of 'noc.gbs', 3 of 'ucie.gbs'; give as many of each, or one for all points",
        ),
    ],
)
def test_mistakes_in_points(points, sentence):
    with pytest.raises(InputError) as caught:
        read_points(points, BASE, KNOWN)
    assert str(caught.value).startswith(sentence)
