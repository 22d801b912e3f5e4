"""Ranges of figures, beside their values in sheets and topologies."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.sheets.field_values import show_topology
from kernbench.machine.sheets.model_sheets import read_model_sheet

LINK = 'link_gbs: {value: 256, unit: GB/s, range: [0.2 TB/s, 300], source: "chosen: x"}'
MESH = f"""family: mesh
description: d
k: 2
torus: false
flit_bytes: 256 B
{LINK}
hop_ns: 1
injection_ns: 1
ejection_ns: 1
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text(MESH)
    return tmp_path / "m.yaml"


@pytest.fixture
def sheet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()

    def write(text):
        (tmp_path / "models/fast.yaml").write_text(
            "kind: noc\ndescription: d\nparameters:\n"
            "  overhead_ns: {value: 0, unit: ns, source: s}\n"
            f"  gbs: {text}\n"
            "  attach_mm: {value: 0.5, unit: mm, source: s}\n"
        )

    return write


def _field(topology, path, overrides=None):
    return next(one for one in show_topology(topology, overrides).all_fields if one.path == path)


def test_a_field_of_a_topology_may_be_written_as_in_a_sheet(machine):
    link = _field("m.yaml", "link_gbs")
    assert (link.value, link.written, link.source, link.range) == (256, "256 GB/s", "chosen: x", (200, 300))
    assert link.place == "m.yaml:6:19"
    assert link.shown_range == "200 … 300 GB/s"
    assert load_machine("m.yaml").edge_gbs.max() == 256
    assert _field("m.yaml", "hop_ns").range is None


def test_an_override_is_certain(machine):
    assert _field("m.yaml", "link_gbs", {"link_gbs": 999}).range is None


def test_a_range_of_a_sheet_is_in_the_unit_of_its_field(sheet):
    sheet('{value: 256, unit: GB/s, range: [100, 0.3 TB/s], source: "chosen: x"}')
    found = _field("tiny", "noc.gbs", {"parts.noc": "fast"})
    assert (found.value, found.range, found.source) == (256, (100, 300), "chosen: x")
    assert read_model_sheet("fast").parameters[1].range == "100 GB/s … 0.3 TB/s"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "{value: 9, range: [-1, 10], source: s}",
            "models/fast.yaml:5:27: noc.gbs.range.0: got -1, expected greater than or equal to 0.001",
        ),
        (
            "{value: 9, range: [10, 20], source: s}",
            "models/fast.yaml:5:26: noc.gbs: got the range 10 to 20, and the value is 9; give the least and the most that "
            "it may be, with the value between them",
        ),
        (
            "{value: 9, range: [9, 9], source: s}",
            "models/fast.yaml:5:26: noc.gbs: got the range 9 to 9, and the value is",
        ),
        (
            "{value: 9, range: [1 ns, 10], source: s}",
            "models/fast.yaml:5:27: noc.gbs.range.0: got '1 ns' with the unknown unit",
        ),
        (
            "{value: 9, range: 3, source: s}",
            "parts.noc: models/fast.yaml:5:26: parameters.gbs.range: got 3, expected list",
        ),
        ("{value: 9, range: [1], source: s}", "parameters.gbs.range: got [1], expected at least 2 items"),
    ],
)
def test_a_range_that_cannot_be_is_told_by_its_place(sheet, text, sentence):
    sheet(text)
    with pytest.raises(InputError) as caught:
        load_machine("tiny", {"parts.noc": "fast"})
    assert sentence in str(caught.value)
    assert len(str(caught.value).split("\n")) == 1


def test_a_range_is_of_a_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text(MESH.replace("torus: false", "torus: {value: false, range: [0, 1], source: s}"))
    with pytest.raises(InputError, match=r"^m.yaml:4:30: torus: a range is of a number, and this field is False$"):
        load_machine("m.yaml")


def test_mistakes_beside_a_value_of_a_topology_have_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text(MESH.replace(', source: "chosen: x"', ", origin: x"))
    with pytest.raises(InputError) as caught:
        load_machine("m.yaml")
    assert str(caught.value).split("\n") == [
        "m.yaml:6:1: link_gbs.source: missing; add it",
        "m.yaml:6:60: link_gbs.origin: unknown field; known: range, source, unit, value",
    ]
