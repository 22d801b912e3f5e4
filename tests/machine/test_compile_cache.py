from __future__ import annotations

import dataclasses
import itertools
import os

import numpy as np
import pytest

from kernbench import library
from kernbench.machine import compile_cache, load


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(load, "_recent", type(load._recent)())
    return tmp_path / "machines"


def _tiny():
    return load.compile_machine(library.find("topology", "tiny"), {})


def _same(a, b):
    if dataclasses.is_dataclass(a):
        return all(_same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, tuple) and a and isinstance(a[0], np.ndarray):
        return all(map(_same, a, b))
    return type(a) is type(b) and a == b


def test_a_machine_comes_back_as_it_was(folder):
    machine = _tiny()
    compile_cache.save_compiled("k", machine)
    again = compile_cache.load_compiled("k")
    assert again is not None
    for field in dataclasses.fields(machine):
        if field.init:
            assert _same(getattr(machine, field.name), getattr(again, field.name)), field.name


@pytest.mark.parametrize("damage", [b"", b"PK", None])
def test_a_damaged_file_is_as_good_as_none(folder, damage):
    machine = load.load_machine("tiny")
    (kept,) = folder.iterdir()
    kept.write_bytes(kept.read_bytes()[: kept.stat().st_size // 2] if damage is None else damage)
    load._recent.clear()
    assert load.load_machine("tiny").digest == machine.digest
    load._recent.clear()
    assert compile_cache.load_compiled(kept.stem) is not None


def test_a_flipped_bit_is_seen_wherever_it_is(folder):
    machine = _tiny()
    compile_cache.save_compiled("k", machine)
    (kept,) = folder.iterdir()
    content = kept.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(content), 50).tolist():
        kept.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        assert compile_cache.load_compiled("k") is None
    kept.write_bytes(content)
    assert compile_cache.load_compiled("k") is not None


def test_the_file_of_another_machine_is_not_taken(folder):
    compile_cache.save_compiled("k", _tiny())
    (folder / "k.machine").rename(folder / "other.machine")
    assert compile_cache.load_compiled("other") is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files")
def test_a_file_that_others_may_write_is_not_taken(folder, monkeypatch):
    compile_cache.save_compiled("k", _tiny())
    monkeypatch.setattr(compile_cache, "find_stranger", lambda path: f"others may write to {path}")
    assert compile_cache.load_compiled("k") is None


def test_nothing_half_written_stays(folder, monkeypatch):
    def full(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    compile_cache.save_compiled("k", _tiny())
    assert list(folder.iterdir()) == []


def test_where_nothing_can_be_written_machines_still_load(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KERNBENCH_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(load, "_recent", type(load._recent)())
    assert load.load_machine("tiny").name == "tiny"


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_BYTES"])
def test_the_oldest_machines_go(folder, monkeypatch, limit):
    machine = _tiny()
    compile_cache.save_compiled("k0", machine)
    size = (folder / "k0.machine").stat().st_size
    monkeypatch.setattr(compile_cache, limit, 4 if limit == "MOST_FILES" else 4 * size)
    monkeypatch.setattr(compile_cache, "PRUNED_EVERY", 1)
    for i in range(5):
        compile_cache.save_compiled(f"k{i}", machine)
        os.utime(folder / f"k{i}.machine", (i, i)) if i < 4 else None
    assert sorted(path.stem for path in folder.iterdir()) == ["k3", "k4"]


def test_a_process_looks_for_old_machines_at_its_first_file_and_now_and_then(folder, monkeypatch):
    machine, looked = _tiny(), []
    monkeypatch.setattr(compile_cache, "_written", itertools.count())
    monkeypatch.setattr(compile_cache, "PRUNED_EVERY", 3)
    monkeypatch.setattr(compile_cache, "_prune", looked.append)
    for expected in (1, 1, 1, 2):
        compile_cache.save_compiled("k", machine)
        assert len(looked) == expected
