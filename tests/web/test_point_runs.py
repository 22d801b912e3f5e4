from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.errors import InputError
from kernbench.web.point_runs import list_point_runs, runs_of_points
from kernbench.web.sources import RunSource, Sources
from tests.web.job_runs import write_run
from tests.web.sweeps import write_sweep

KEY = "0123456789abcdef"


def test_runs_of_points_are_sources_behind_their_sweep(tmp_path: Path) -> None:
    swept = write_sweep(tmp_path / "swept")
    write_run(swept / "runs" / KEY)
    (swept / "runs" / "notes").mkdir()
    (swept / "runs" / KEY[::-1]).mkdir()  # has no result yet
    sources = Sources([str(swept), "tiny"])
    assert list(sources.list()) == ["swept", "swept · 01234567", "tiny"]
    of_point = sources.list()["swept · 01234567"]
    assert isinstance(of_point, RunSource)
    assert of_point.directory.name == KEY


def test_a_run_may_be_shown_from_another_directory(tmp_path: Path) -> None:
    sources = Sources([str(write_run(tmp_path / "kept")), str(write_sweep(tmp_path / "swept"))])
    sources.replace("kept", tmp_path / "again")
    sources.add_point("swept", KEY, write_run(tmp_path / "elsewhere"))
    found = {name: source.directory.name for name, source in sources.list().items() if isinstance(source, RunSource)}
    assert found == {"kept": "again", "swept · 01234567": "elsewhere"}


def test_a_link_out_of_the_sweep_is_not_followed(tmp_path: Path) -> None:
    swept = write_sweep(tmp_path / "swept")
    write_run(tmp_path / "elsewhere" / KEY)
    (swept / "runs").symlink_to(tmp_path / "elsewhere")
    assert list_point_runs(swept) == {}
    with pytest.raises(InputError, match=r"runs leads out of .*swept, and the viewer writes nothing outside it"):
        runs_of_points(swept)
