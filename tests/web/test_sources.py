from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.errors import InputError
from kernbench.web.sources import RunSource, Sources, SweepSource
from tests.web.sweeps import write_sweep


def test_sources_of_one_name_get_names_of_their_own(tmp_path: Path) -> None:
    given = [str(write_sweep(tmp_path / place / "swept")) for place in ("a", "b")]
    found = Sources(given).list()
    assert {name: source.directory.parent.name for name, source in found.items()} == {"swept": "a", "swept (2)": "b"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none", "none is no directory of a sweep or a run; unknown topology 'none'"),
        (
            "./none",
            "./none is no directory of a sweep or a run; no such file: ./none; give a path, or",
        ),
        ("./file", "file: the file is empty, expected a mapping"),
        ("empty", "empty is no directory of a sweep or a run: it has neither sweep.json nor result.json"),
        (
            "half",
            "half has oplog.parquet but no result.json, so its run did not end or was copied in part; run it again",
        ),
        ("probe", "probe has result.json but no oplog.parquet, so there is nothing to draw; kernbench run BENCH --out"),
        ("a\0b", "has a NUL character; leave it out"),
    ],
)
def test_what_is_neither_is_refused(name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    write_sweep(Path("swept"))
    for directory, files in {"empty": (), "half": ("oplog.parquet",), "probe": ("result.json",)}.items():
        Path(directory).mkdir()
        for file in files:
            Path(directory, file).touch()
    with pytest.raises(InputError) as caught:
        Sources([name])
    assert said in str(caught.value)


def test_a_directory_of_runs_stands_for_them(tmp_path: Path) -> None:
    write_sweep(tmp_path / "all" / "swept")
    write_sweep(tmp_path / "elsewhere")
    (tmp_path / "all" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "all" / "ran").mkdir()
    for file in ("result.json", "oplog.parquet"):
        (tmp_path / "all" / "ran" / file).touch()
    found = Sources([str(tmp_path / "all"), str(tmp_path / "elsewhere")]).list()
    assert list(found) == ["ran", "swept", "elsewhere"]


def test_without_sources_results_is_searched_each_time(tmp_path: Path) -> None:
    sources = Sources((), tmp_path / "results")
    assert list(sources.list()) == []
    write_sweep(tmp_path / "results" / "later")
    write_sweep(tmp_path / "elsewhere")
    (tmp_path / "results" / "ran").mkdir()
    for file in ("result.json", "oplog.parquet"):
        (tmp_path / "results" / "ran" / file).touch()
    (tmp_path / "results" / "link").symlink_to(tmp_path / "elsewhere")
    assert {name: type(one) for name, one in sources.list().items()} == {"later": SweepSource, "ran": RunSource}


def test_a_link_out_of_a_directory_is_not_followed(tmp_path: Path) -> None:
    directory = write_sweep(tmp_path / "swept")
    (tmp_path / "secret").touch()
    (directory / "table.parquet").unlink()
    (directory / "table.parquet").symlink_to(tmp_path / "secret")
    source = Sources([str(directory)]).list()["swept"]
    assert isinstance(source, SweepSource)
    with pytest.raises(InputError, match=r"leads out of .*swept, and the viewer reads nothing outside it"):
        source.file("table.parquet")
