from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernels_jit.compile import cache

find_directory = cache.directory.__wrapped__


def test_key_follows_every_source(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.py").write_text("y = 1\n")
    before = cache.key(tmp_path)
    assert cache.key(tmp_path) == before
    (tmp_path / "deep" / "b.py").write_text("y = 2\n")
    assert cache.key(tmp_path) != before


def test_key_does_not_depend_on_where_a_file_ends(tmp_path: Path):
    (tmp_path / "a.py").write_text("xy")
    (tmp_path / "b.py").write_text("")
    before = cache.key(tmp_path)
    (tmp_path / "a.py").write_text("x")
    (tmp_path / "b.py").write_text("y")
    assert cache.key(tmp_path) != before


def test_a_chosen_home_wins(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("KERNBENCH_CACHE", str(tmp_path))
    assert find_directory() == tmp_path / "jit" / cache.key()


def test_a_home_that_cannot_be_written_is_passed_over(tmp_path: Path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache, "homes", lambda: iter([tmp_path / "file", tmp_path / "good"]))
    assert find_directory() == tmp_path / "good" / cache.key()


def test_old_directories_go_and_recent_ones_stay(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(cache, "homes", lambda: iter([tmp_path]))
    (tmp_path / "old").mkdir()
    (tmp_path / "recent").mkdir()
    long_ago = time.time() - (cache.KEEP_DAYS + 1) * 86_400
    os.utime(tmp_path / "old", (long_ago, long_ago))
    find_directory()
    assert {path.name for path in tmp_path.iterdir()} == {"recent", cache.key()}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files")
def test_a_directory_that_others_may_write_to_is_passed_over(open_path: Path, monkeypatch):
    monkeypatch.setattr(cache, "homes", lambda: iter([open_path / "theirs", open_path / "ours"]))
    monkeypatch.delenv("KERNBENCH_CACHE", raising=False)
    (open_path / "theirs").mkdir()
    (open_path / "theirs").chmod(0o775)
    assert find_directory() == open_path / "ours" / cache.key()
    monkeypatch.setenv("KERNBENCH_CACHE", str(open_path / "theirs"))
    with pytest.warns(
        UserWarning, match=rf"^compiled loops are not kept there: others may write to {open_path}/theirs"
    ):
        assert find_directory() == open_path / "ours" / cache.key()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files")
def test_a_planted_file_is_not_loaded_though_its_seal_is_right(open_path: Path, monkeypatch):
    monkeypatch.setenv("KERNBENCH_CACHE", str(open_path))
    folder = find_directory()
    planted, ours = folder / "code" / "f-1.py311.1.nbc", folder / "code" / "g-1.py311.1.nbc"
    planted.parent.mkdir()
    for path in (planted, ours):
        path.write_bytes(b"code")
        path.chmod(0o644)
    cache.seal_files(folder)
    planted.chmod(0o666)
    for opened in (open_path / "jit", folder, planted.parent):
        opened.chmod(0o755)
    find_directory()
    assert [path.exists() for path in (planted, ours)] == [False, True]


def test_a_home_without_room_is_passed_over(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(cache, "homes", lambda: iter([tmp_path / "full", tmp_path / "good"]))
    free = {tmp_path / "full" / cache.key(): 1000, tmp_path / "good" / cache.key(): 1 << 40}
    monkeypatch.setattr(cache.shutil, "disk_usage", lambda path: SimpleNamespace(free=free[path]))
    assert find_directory() == tmp_path / "good" / cache.key()


def test_warm_once_the_loop_was_compiled_and_sealed(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(cache, "directory", lambda: tmp_path)
    assert not cache.is_warm()
    (tmp_path / "code").mkdir()
    for name, warm in (("dijkstra._walk-90.nbi", False), ("loop.runs-12.nbi", False), ("loop.run-12.nbi", True)):
        path = tmp_path / "code" / name
        path.write_bytes(b"code")
        assert not cache.is_warm()
        cache.seal_files(tmp_path)
        assert cache.is_warm() is warm
    assert cache.is_warm("dijkstra._walk")
    assert not cache.is_warm("batch.run_points")
    path.write_bytes(b"other")
    assert not cache.is_warm()


def test_a_function_with_two_signatures_is_not_kept(tmp_path: Path):
    index, first, second, other = (
        tmp_path / name for name in ("f-1.py311.nbi", "f-1.py311.1.nbc", "f-1.py311.2.nbc", "f-12.py311.1.nbc")
    )
    for path in (index, first, other):
        path.write_bytes(b"code")
    cache.seal_files(tmp_path)
    assert all(cache.is_sound(path, tmp_path) for path in (index, first, other))
    second.write_bytes(b"code")
    assert cache.find_ambiguous(tmp_path) == {tmp_path / "f-1.py311"}
    cache.seal_files(tmp_path)
    cache.drop_unsound(tmp_path)
    assert [path.exists() for path in (index, first, second, other)] == [False, False, False, True]


def test_only_files_with_a_sound_seal_stay(tmp_path: Path):
    kept, other = tmp_path / "a" / "f.1.nbc", tmp_path / "b" / "f.1.nbc"
    for path in (kept, other):
        path.parent.mkdir()
        path.write_bytes(b"code")
    cache.seal_files(tmp_path)
    cache.drop_unsound(tmp_path)
    assert kept.exists()
    assert other.exists()
    seal = other.with_name("f.1.nbc.seal")
    seal.write_bytes(kept.with_name("f.1.nbc.seal").read_bytes())
    cache.drop_unsound(tmp_path)
    assert kept.exists()
    assert not other.exists()
    for damaged in (b"", b"cod", b"code!", b"cide"):
        kept.write_bytes(b"code")
        cache.seal_files(tmp_path)
        assert cache.is_sound(kept, tmp_path)
        kept.write_bytes(damaged)
        cache.drop_unsound(tmp_path)
        assert not kept.exists()


def test_a_file_that_another_process_removes_is_passed_over(tmp_path: Path, monkeypatch):
    def gone(folder: Path, path: Path) -> str:
        path.unlink()
        raise FileNotFoundError(path)

    (tmp_path / "f.1.nbc").write_bytes(b"code")
    cache.seal_files(tmp_path)
    monkeypatch.setattr(cache, "find_stranger_below", gone)
    cache.drop_unsound(tmp_path)
    assert list(tmp_path.glob("*.nbc")) == []


def test_code_is_named_after_a_copy_of_its_file_where_one_can_be_made(tmp_path: Path, monkeypatch):
    code, own = cache.key.__code__, Path(cache.__file__)
    monkeypatch.setattr(cache, "directory", lambda: tmp_path / "kept")
    filed = cache.filed_by_content(code)
    assert filed.co_filename == str(tmp_path / "kept" / "sources" / "compile" / "cache.py")
    assert Path(filed.co_filename).read_bytes() == own.read_bytes()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache, "directory", lambda: tmp_path / "file")
    assert cache.filed_by_content(code) is code
