from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from kernbench.errors import InputError, RunError
from kernbench.sealing import MARK, read_sealed_parquet
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.results import store as store_module
from kernbench.sweep.results.store import DAMAGED, Store, best_rows, write_frames, write_whole
from kernbench.sweep.results.stored_rows import StoredRows
from kernbench.sweep.row import COLUMNS, STAMP, failed_row, ok_row
from kernbench.sweep.run import run_sweep
from kernbench.unfinished import PREFIX, unfinished_file
from tests.sweep import fakes

UNSTAMPED = dict.fromkeys(("fidelity", *STAMP))


def row(key: str, latency_ns: float = 1.0) -> dict[str, Any]:
    return {**UNSTAMPED, **ok_row(fakes.result(latency_ns)), "key": key}


def kept(directory: Path, columns: Sequence[str] = tuple(COLUMNS)) -> polars.DataFrame:
    """All rows of a directory, one a key."""
    empty = polars.DataFrame(schema={name: COLUMNS[name] for name in columns})
    return best_rows(polars.concat([empty, *(rows for _, _, rows in Store(directory).scan(columns))]))


def read(directory: Path) -> dict[str, dict[str, Any]]:
    return {found["key"]: found for found in kept(directory).to_dicts()}


def failed(key: str, status: str) -> dict[str, Any]:
    return {**failed_row(status, "no"), "key": key}


def parts(directory: Path) -> list[Path]:
    return list((directory / "parts").iterdir())


def test_rows_are_found_by_another_store(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append(row("a"))
    store.append(failed("b", "error"))
    store.flush()
    assert read(tmp_path) == {"a": row("a"), "b": failed("b", "error")}


def test_the_first_row_is_on_the_disk_at_once_and_later_ones_together(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.append(row("a"))
    assert len(parts(tmp_path)) == 1
    assert not store.append(row("b"))
    for i in range(99):
        store.append(row(f"b{i}"))
    store.flush()
    assert len(parts(tmp_path)) < 20
    assert len(kept(tmp_path)) == 101


def test_an_empty_directory_has_no_rows(tmp_path: Path) -> None:
    assert read(tmp_path / "none") == {}


def test_of_several_rows_the_most_finished_counts(tmp_path: Path) -> None:
    for one in (row("a"), failed("a", "lost"), failed("b", "lost"), failed("b", "error"), failed("b", "lost")):
        store = Store(tmp_path)
        store.append(one)
    found = read(tmp_path)
    assert (found["a"]["status"], found["b"]["status"]) == ("ok", "error")


def test_compacting_leaves_one_part_with_all(tmp_path: Path) -> None:
    for key in "abc":
        Store(tmp_path).append(row(key))
    before = read(tmp_path)
    Store(tmp_path).compact()
    assert len(parts(tmp_path)) == 1
    assert read(tmp_path) == before


def test_parts_that_are_large_already_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(tmp_path).append(row("a"))
    (large,) = parts(tmp_path)
    monkeypatch.setattr(store_module, "WHOLE_BYTES", large.stat().st_size)
    before = large.stat().st_mtime_ns
    Store(tmp_path).compact()
    assert [path.stat().st_mtime_ns for path in parts(tmp_path)] == [before]
    assert list(read(tmp_path)) == ["a"]


def test_compacting_removes_what_nobody_writes_any_more_and_leaves_what_somebody_does(tmp_path: Path) -> None:
    Store(tmp_path).append(row("a"))
    for folder in (tmp_path, tmp_path / "parts"):
        left = folder / f"{PREFIX}{'0' * 32}.parquet"
        left.write_bytes(b"half")
        with unfinished_file(folder) as living:
            Store(tmp_path).compact()
            assert (left.exists(), living.exists()) == (False, True)
    assert list(read(tmp_path)) == ["a"]


def test_writers_that_compact_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    def write(name: str) -> None:
        store = Store(tmp_path)
        for i in range(6):
            store.append(row(f"{name}{i}"))
            store.flush()
            store.compact()

    threads = [threading.Thread(target=write, args=(name,)) for name in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept(tmp_path)) == 18


@pytest.mark.parametrize("moment", ["is_file", "_digest"])
def test_a_part_that_is_merged_while_it_is_looked_at_is_looked_for_again(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = fakes.toy_grid(tmp_path, M=[1, 2, 3])
    plan = plan_sweep(grid, tmp_path / "out")
    assert len(run_sweep(grid, plan.directory, 1, run=fakes.run_fake).table) == 3
    whole = Store(plan.directory)
    (merged,) = whole.scan()
    for i in range(3):  # as if they had not been merged
        Store(plan.directory).append_frame(merged[2][i : i + 1])
    merged[0].unlink()
    where = store_module if moment == "_digest" else Path
    look, merges = getattr(where, moment), [None]

    def merge_first(path: Path) -> object:
        if merges and path.parent == merged[0].parent:
            merges.clear()
            whole.compact()
            assert not path.exists()
        return look(path)

    monkeypatch.setattr(where, moment, merge_first)
    assert StoredRows(Store(plan.directory), plan.points).found.all()
    assert not merges


def spoil(part: Path, place: int) -> None:
    content = bytearray(part.read_bytes())
    content[place] ^= 1
    part.write_bytes(content)


def test_a_part_with_a_flipped_bit_is_set_aside(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for name in "ab":
        store.append(row(name))
        store.flush()
    first, second = sorted((tmp_path / "parts").iterdir())
    left = set(polars.read_parquet(second)["key"])
    size = first.stat().st_size
    content = first.read_bytes()
    for place in np.random.default_rng(0).integers(0, size, 30).tolist():
        spoil(first, place)
        with pytest.warns(UserWarning, match=f"^{first} is not what was written there; it is .*damaged"):
            assert set(kept(tmp_path)["key"]) == left
        assert (tmp_path / "parts" / DAMAGED / first.name).exists()
        assert set(kept(tmp_path)["key"]) == left
        first.write_bytes(content)
    assert set(kept(tmp_path)["key"]) == {"a", "b"}


def test_what_is_no_part_is_set_aside(tmp_path: Path) -> None:
    Store(tmp_path).append_frame(polars.DataFrame({"key": ["a"], "status": ["ok"]}))
    parts = tmp_path / "parts"
    (parts / "x.parquet").write_bytes(b"not parquet at all")
    (parts / f"{'0' * 32}-{'1' * 32}.parquet").symlink_to(tmp_path / "nowhere")
    (parts / "folder.parquet").mkdir()
    with pytest.warns(UserWarning, match="is not what was written there") as told:
        assert list(kept(tmp_path)["key"]) == ["a"]
    assert len(told) == 3
    assert len(list((parts / DAMAGED).iterdir())) == 3
    assert list(kept(tmp_path)["key"]) == ["a"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("before", encoding="utf-8")

    def fail(unfinished: Path) -> None:
        unfinished.write_text("half", encoding="utf-8")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, fail)
    assert path.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [path]


def frames(count: int, error: BaseException | None = None) -> Iterator[polars.DataFrame]:
    for i in range(count):
        yield polars.DataFrame({"a": [i, i]})
    if error:
        raise error


def test_frames_are_written_one_after_the_other(tmp_path: Path) -> None:
    write_frames(tmp_path / "x.parquet", frames(3))
    assert read_sealed_parquet(tmp_path / "x.parquet")["a"].to_list() == [0, 0, 1, 1, 2, 2]
    assert MARK in (tmp_path / "x.parquet").read_bytes()


@pytest.mark.parametrize("error", [InputError("no"), KeyboardInterrupt()])
def test_what_a_frame_raises_is_what_is_raised(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        write_frames(tmp_path / "x.parquet", frames(2, error))
    assert caught.value is error
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError) as caught:
        write_whole(tmp_path / "file" / "x", lambda path: None)
    assert str(caught.value) == f"cannot write {tmp_path / 'file' / 'x'} (File exists); give another --out"


def test_a_disk_without_room_is_told(tmp_path: Path) -> None:
    rows = polars.DataFrame({"key": ["a"]})
    with pytest.raises(RunError, match=r"^cannot write .*No space left on device"):
        write_whole(tmp_path / "x", lambda _: rows.write_parquet("/dev/full"))


def test_all_rows_of_a_store_carry_its_stamp(tmp_path: Path) -> None:
    store = Store(tmp_path, {"bench_digest": "b", "topology_digest": "t", "kernbench": "1+c"})
    store.append(row("a"))
    store.append_frame(polars.DataFrame({"key": ["b"], "status": ["ok"], "latency_ns": [2]}))
    found = kept(tmp_path)
    assert found.schema == polars.Schema(COLUMNS)
    assert found.sort("key").select("key", "latency_ns", "bench_digest", "kernbench").rows() == [
        ("a", 1.0, "b", "1+c"),
        ("b", 2.0, "b", "1+c"),
    ]


def test_rows_of_an_earlier_version_lack_columns(tmp_path: Path) -> None:
    earlier = polars.DataFrame({"key": ["a"], "status": ["ok"], "gone": [1]})
    write_whole(tmp_path / "parts" / f"{'0' * 32}.parquet", earlier.write_parquet, mark=True)
    assert kept(tmp_path, ["key", "status", "kernbench"]).rows() == [("a", "ok", None)]
