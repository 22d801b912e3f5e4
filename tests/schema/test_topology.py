from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.schema.topology import complete, family_of, load_tree, overlay, override, set_path
from kernbench.schema.yaml import parse

KNOWN = ["family", "hbm.channel_gbs", "hbm.channels", "cube.pes"]


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    for name, gbs in (("hbm", 32), ("hbm_fast", 64)):
        sheet = f"kind: hbm\ndescription: d\nparameters:\n  channel_gbs: {{value: {gbs}, source: s}}\n"
        (tmp_path / "models" / f"{name}.yaml").write_text(sheet)


def _tree(text, overrides, path):
    path.write_text(text)
    tree, files, problems = complete(load_tree(path, overrides), {"hbm": "hbm"})
    tree, unknown = overlay(tree, overrides, KNOWN)
    if problems or unknown:
        raise InputError("\n".join([*problems, *unknown]))
    assert files["hbm"].parent == path.parent / "models"
    return tree.plain()


@pytest.mark.parametrize(
    ("text", "overrides", "gbs"),
    [
        ("family: sip", {}, 32),
        ("family: sip\nparts: {hbm: hbm_fast}", {}, 64),
        ("family: sip\nhbm: {channel_gbs: 40}", {}, 40),
        ("family: sip\nhbm: {channel_gbs: 40}", {"hbm.channel_gbs": "48 GB/s"}, "48 GB/s"),
        ("family: sip", {"parts.hbm": "hbm_fast"}, 64),
        ("family: sip", {"hbm.channel_gbs": 7}, 7),
    ],
)
def test_what_wins_over_what(models, tmp_path, text, overrides, gbs):
    assert _tree(text, overrides, tmp_path / "t.yaml")["hbm"] == {"channel_gbs": gbs}


def test_an_unknown_override_suggests(models, tmp_path):
    with pytest.raises(
        InputError, match=r"^unknown topology field 'hbm.chanel_gbs'; did you mean 'hbm.channel_gbs'\? Known: "
    ):
        _tree("family: sip", {"hbm.chanel_gbs": 7}, tmp_path / "t.yaml")


def test_a_text_override_is_read_as_yaml():
    assert override("a.b", "[1, x]").plain() == [1, "x"]
    assert override("a.b", "1e3").plain() == 1000.0
    assert override("a.b", (1, {"c": None})).plain() == [1, {"c": None}]
    assert str(override("a.b", "6 x").mark) == "override a.b"


def test_an_override_that_is_not_yaml_is_a_text():
    assert override("a.b", "[1").plain() == "[1"


def test_a_path_is_set_without_touching_the_tree():
    tree = parse("a: {b: 1}\n", "f")
    assert set_path(tree, "a.c.d", override("a.c.d", 2)).plain() == {"a": {"b": 1, "c": {"d": 2}}}
    assert tree.plain() == {"a": {"b": 1}}


def test_the_family_is_known():
    with pytest.raises(InputError, match=r"^f:1:1: family: missing; known: mesh, sip$"):
        family_of(parse("a: 1", "f"), ["sip", "mesh"])
    with pytest.raises(
        InputError, match=r"^f:1:9: family: unknown family 'sib'; did you mean 'sip'\? Known: mesh, sip$"
    ):
        family_of(parse("family: sib", "f"), ["sip", "mesh"])


def test_a_file_that_is_no_mapping_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text("- 1\n")
    with pytest.raises(InputError, match=r"^t.yaml:1:1: expected a mapping with the key 'family'$"):
        load_tree(tmp_path / "t.yaml", {})


def test_a_sheet_that_is_not_there_does_not_hide_other_mistakes(models, tmp_path):
    with pytest.raises(InputError) as caught:
        _tree("family: sip\nparts: {hbm: hbn}\n", {"hbm.chanels": 4}, tmp_path / "t.yaml")
    first, second = str(caught.value).splitlines()
    assert first.startswith("t.yaml:2:14: parts.hbm: unknown model sheet 'hbn'; did you mean 'hbm'? Known: ")
    assert second.startswith("unknown topology field 'hbm.chanels'; did you mean 'hbm.channels'? Known: ")


def test_an_override_that_names_no_sheet_is_named_once(models, tmp_path):
    with pytest.raises(
        InputError, match=r"^override parts.hbm: unknown model sheet 'hbm_fats'; did you mean 'hbm_fast'\?"
    ):
        _tree("family: sip", {"parts.hbm": "hbm_fats"}, tmp_path / "t.yaml")
