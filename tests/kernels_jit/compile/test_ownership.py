"""Files that others could have written are told apart from ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernels_jit.compile.ownership import find_stranger, find_stranger_below, make_private

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files")


@pytest.fixture
def ours(open_path: Path) -> Path:
    folder = open_path / "cache" / "jit"
    make_private(folder)
    for opened in (folder, folder.parent):
        opened.chmod(0o755)
    (folder / "code").write_bytes(b"code")
    (folder / "code").chmod(0o644)
    return folder


def test_what_only_we_may_write_is_ours(ours: Path) -> None:
    assert find_stranger(ours) == find_stranger(ours / "code") == ""


def test_new_directories_are_ours_whatever_the_umask(open_path: Path) -> None:
    before = os.umask(0)
    try:
        make_private(open_path / "a" / "b")
    finally:
        os.umask(before)
    assert find_stranger(open_path / "a" / "b") == ""


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_may_write(ours: Path, mode: int) -> None:
    (ours / "code").chmod(mode)
    assert find_stranger(ours / "code") == f"others may write to {ours / 'code'} (mode {mode:o})"


@pytest.mark.parametrize("mode", [0o775, 0o777])
def test_a_directory_above_that_others_may_write_to(ours: Path, mode: int) -> None:
    ours.parent.chmod(mode)
    assert find_stranger(ours / "code") == f"others may write to {ours.parent} (mode {mode:o})"


def test_everybody_may_have_a_directory_of_his_own_in_one_like_tmp(ours: Path) -> None:
    ours.parent.chmod(0o1777)
    assert find_stranger(ours / "code") == find_stranger(ours) == ""
    assert find_stranger(ours.parent) == f"others may write to {ours.parent} (mode 1777)"


def test_a_link_is_as_good_as_the_way_to_it_and_its_target(ours: Path, open_path: Path) -> None:
    link = open_path / "links" / "jit"
    link.parent.mkdir(mode=0o755)
    link.symlink_to(ours)
    assert find_stranger(link / "code") == ""
    link.parent.chmod(0o777)
    assert find_stranger(link / "code") == f"others may write to {link.parent} (mode 777)"
    link.parent.chmod(0o755)
    ours.parent.chmod(0o777)
    assert find_stranger(link / "code") == f"others may write to {ours.parent} (mode 777)"


def test_below_a_closed_directory_nobody_else_writes(ours: Path) -> None:
    (ours / "code").chmod(0o666)
    ours.chmod(0o777)
    assert find_stranger(ours / "code") != ""
    ours.parent.chmod(0o700)
    assert find_stranger(ours / "code") == find_stranger(ours) == ""


def test_what_belongs_to_another_user(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = (ours / "code").stat().st_uid
    if owner == 0:
        os.chown(ours / "code", 12345, -1)
        owner = 12345
    else:
        monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert find_stranger(ours / "code") == f"{ours / 'code'} belongs to user {owner}"


def test_below_a_directory_of_ours_only_the_steps_below_it_are_looked_at(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = ours / "sub" / "code"
    code.parent.mkdir(mode=0o755)
    code.write_bytes(b"code")
    code.chmod(0o644)
    ours.parent.chmod(0o777)
    assert find_stranger_below(ours, code) == ""
    for step in (code, code.parent):
        before = step.stat().st_mode
        step.chmod(0o777)
        assert find_stranger_below(ours.parent, code) == find_stranger(code) != ""
        step.chmod(before)
    owner = code.stat().st_uid
    if owner == 0:
        os.chown(code, 12345, -1)
        owner = 12345
    else:
        monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    ours.parent.chmod(0o755)
    assert find_stranger_below(ours, code) == f"{code} belongs to user {owner}"


def test_a_link_below_a_directory_of_ours_is_followed(ours: Path, open_path: Path) -> None:
    elsewhere = open_path / "elsewhere"
    elsewhere.write_bytes(b"code")
    elsewhere.chmod(0o666)
    (ours / "link").symlink_to(elsewhere)
    assert find_stranger_below(ours, ours / "link") == f"others may write to {elsewhere} (mode 666)"


def test_below_a_closed_directory_modes_say_nothing(ours: Path) -> None:
    (ours / "code").chmod(0o666)
    ours.parent.chmod(0o700)
    assert find_stranger_below(ours, ours / "code") == ""
