from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.errors import InputError
from kernbench.web.sources import Sources
from tests.web.sweeps import write_sweep


def test_sources_of_one_name_get_names_of_their_own(tmp_path: Path) -> None:
    given = [str(write_sweep(tmp_path / place / "swept")) for place in ("a", "b")]
    found = Sources(given).list()
    assert {name: source.directory.parent.name for name, source in found.items()} == {"swept": "a", "swept (2)": "b"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none", "none is no directory of a sweep, as kernbench sweep leaves it; unknown topology 'none'"),
        (
            "./none",
            "./none is no directory of a sweep, as kernbench sweep leaves it; no such file: ./none; give a path, or",
        ),
        ("./file", "file: the file is empty, expected a mapping"),
        ("empty", "empty is no directory of a sweep: it has no sweep.json"),
        ("a\0b", "has a NUL character; leave it out"),
    ],
)
def test_what_is_no_sweep_is_refused(name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("empty").mkdir()
    with pytest.raises(InputError) as caught:
        Sources([name])
    assert said in str(caught.value)


def test_without_sources_results_is_searched_each_time(tmp_path: Path) -> None:
    sources = Sources((), tmp_path / "results")
    assert list(sources.list()) == []
    write_sweep(tmp_path / "results" / "later")
    write_sweep(tmp_path / "elsewhere")
    (tmp_path / "results" / "link").symlink_to(tmp_path / "elsewhere")
    assert list(sources.list()) == ["later"]


def test_a_link_out_of_a_directory_is_not_followed(tmp_path: Path) -> None:
    directory = write_sweep(tmp_path / "swept")
    (tmp_path / "secret").touch()
    (directory / "table.parquet").unlink()
    (directory / "table.parquet").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match=r"leads out of .*swept, and the viewer reads nothing outside it"):
        Sources([str(directory)]).list()["swept"].file("table.parquet")
