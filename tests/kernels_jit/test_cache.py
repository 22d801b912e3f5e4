from __future__ import annotations

import os
import time
from pathlib import Path

from kernels_jit import cache


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
    assert cache.directory() == tmp_path / "jit" / cache.key()


def test_a_home_that_cannot_be_written_is_passed_over(tmp_path: Path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache, "homes", lambda: iter([tmp_path / "file", tmp_path / "good"]))
    assert cache.directory() == tmp_path / "good" / cache.key()


def test_old_directories_go_and_recent_ones_stay(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(cache, "homes", lambda: iter([tmp_path]))
    (tmp_path / "old").mkdir()
    (tmp_path / "recent").mkdir()
    long_ago = time.time() - (cache.KEEP_DAYS + 1) * 86_400
    os.utime(tmp_path / "old", (long_ago, long_ago))
    cache.directory()
    assert {path.name for path in tmp_path.iterdir()} == {"recent", cache.key()}


def test_warm_once_the_loop_was_compiled(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(cache, "homes", lambda: iter([tmp_path]))
    assert not cache.is_warm()
    (cache.directory() / "dijkstra.walk-90.py311.nbi").write_text("")
    assert not cache.is_warm()
    (cache.directory() / "loop.run-12.py311.nbi").write_text("")
    assert cache.is_warm()
