from __future__ import annotations

from pathlib import Path

import pytest

from kernbench import library
from kernbench.errors import InputError


@pytest.fixture
def here(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_shipped_file_is_found_by_name(here):
    assert library.find("topology", "tiny") == library.shipped() / "topology" / "tiny.yaml"
    assert library.find("topology", "tiny.yaml") == library.find("topology", "tiny")


def test_a_file_in_the_working_directory_wins(here):
    (here / "topology").mkdir()
    own = here / "topology" / "tiny.yaml"
    own.write_text("family: sip\n")
    assert library.find("topology", "tiny") == own


def test_what_is_found_in_place_of_a_shipped_file_is_listed(here, monkeypatch):
    (here / "topology").mkdir()
    for name in ("tiny", "mine"):
        (here / "topology" / f"{name}.yaml").write_text("family: sip\n")
    same = (library.shipped() / "topology" / "sip_2x4x4.yaml").read_text()
    (here / "topology" / "sip_2x4x4.yaml").write_text(same)
    assert library.list_replaced("topology") == {"tiny": here / "topology" / "tiny.yaml"}
    assert library.list_replaced("sweeps") == {}
    monkeypatch.chdir(library.shipped())
    assert library.list_replaced("topology") == {}


def test_an_explicit_path_wins(here):
    own = here / "tiny.yaml"
    own.write_text("family: sip\n")
    assert library.find("topology", "tiny.yaml") == own
    assert library.find("topology", own) == own


def test_an_unknown_name_suggests(here, monkeypatch):
    monkeypatch.setattr(library, "shipped", lambda: here / "none")
    (here / "topology").mkdir()
    (here / "topology" / "tiny.yaml").write_text("")
    with pytest.raises(InputError, match=r"^unknown topology 'tinny'; did you mean 'tiny'\? Known: tiny$"):
        library.find("topology", "tinny")


def test_a_path_that_is_not_there_is_no_name(here, monkeypatch):
    monkeypatch.setattr(library, "shipped", lambda: here / "none")
    with pytest.raises(InputError, match=r"^no such file: far/tiny.yaml; give a path, or one of none$"):
        library.find("topology", "far/tiny.yaml")


def test_a_path_into_the_working_directory_is_no_name(here):
    with pytest.raises(InputError, match=r"^no such file: ./tiny.yaml; give a path, or one of ascend_910b2.yaml, "):
        library.find("topology", "./tiny.yaml")


def test_a_suffix_that_was_typed_is_suggested(here):
    with pytest.raises(InputError, match=r"^unknown topology 'tinny.yaml'; did you mean 'tiny.yaml'\? Known: "):
        library.find("topology", "tinny.yaml")


def test_paths_are_shown_from_the_working_directory(here):
    assert library.show_path(here / "own" / "a.yaml") == "own/a.yaml"
    assert library.show_path("/elsewhere/a.yaml") == "/elsewhere/a.yaml"


def test_names_are_listed_once_and_sorted(here):
    (here / "topology").mkdir()
    for name in ("tiny", "b", "_hidden"):
        (here / "topology" / f"{name}.yaml").write_text("")
    names = library.list_names("topology")
    assert names == sorted(set(names))
    assert {"b", "tiny", "sip_2x4x4"} <= set(names)
    assert "_hidden" not in names


def test_what_is_no_file_is_not_listed(here):
    (here / "topology" / "folder.yaml").mkdir(parents=True)
    (here / "topology" / "dangling.yaml").symlink_to("nowhere")
    (here / "topology" / "tiny.yaml").mkdir()
    assert not {"folder", "dangling"} & set(library.list_names("topology"))
    assert library.list_replaced("topology") == {}


def test_a_file_that_cannot_be_read_differs_from_the_shipped_one(here):
    (here / "topology" / "tiny.yaml").mkdir(parents=True)
    assert library.differs(here / "topology" / "tiny.yaml", library.shipped() / "topology" / "tiny.yaml")
