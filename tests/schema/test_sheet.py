from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.schema.sheet import load_sheet


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def test_parameters_carry_their_units_and_places(models):
    (models / "fast.yaml").write_text(
        "kind: hbm\ndescription: d\nparameters:\n"
        "  channel_gbs: {value: 64, unit: GB/s, source: chosen}\n  slice_bytes: {value: 1 GiB, source: chosen}\n"
    )
    path, parameters = load_sheet("fast", "hbm")
    assert path == models / "fast.yaml"
    assert parameters.plain() == {"channel_gbs": "64 GB/s", "slice_bytes": "1 GiB"}
    assert str(parameters.value["channel_gbs"].mark) == "models/fast.yaml:4:24"


def test_a_parameter_without_a_source_is_refused(models):
    (models / "fast.yaml").write_text(
        "kind: hbm\ndescription: d\nparameters:\n  channels: {value: 8}\n  turn_ns: {value: 1, source: ''}\n"
    )
    with pytest.raises(InputError) as caught:
        load_sheet("fast", "hbm")
    assert str(caught.value).split("\n") == [
        "models/fast.yaml:4:3: parameters.channels.source: missing; add it",
        "models/fast.yaml:5:31: parameters.turn_ns.source: got '', expected at least 1 character",
    ]


def test_a_sheet_of_another_kind_is_refused(models):
    (models / "fast.yaml").write_text("kind: sram\ndescription: d\n")
    with pytest.raises(InputError, match=r"^models/fast.yaml:1:7: kind: got a sheet of 'sram', expected one of 'hbm'$"):
        load_sheet("fast", "hbm")


def test_an_unknown_sheet_suggests(models):
    with pytest.raises(InputError, match=r"^unknown model sheet 'hbn'; did you mean 'hbm'\? Known: "):
        load_sheet("hbn", "hbm")


def test_a_class_is_no_sheet(models):
    (models / "fast.py").write_text("")
    with pytest.raises(InputError, match=r"^models/fast.py is a class; name the sheet beside it, models/fast.yaml$"):
        load_sheet("models/fast.py", "hbm")
