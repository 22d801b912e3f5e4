"""Several sweeps at work in one directory."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from kernbench.sweep.at_work import at_work
from kernbench.sweep.run import run_sweep
from tests.sweep import fakes

WORKER = """
import sys, time
from pathlib import Path
from kernbench.sweep.at_work import at_work
with at_work(Path(sys.argv[1])):
    print("begun", flush=True)
    time.sleep(100)
"""


def begin(directory: Path) -> list[str]:
    """What is warned of when a sweep begins in a directory."""
    with warnings.catch_warnings(record=True, action="always") as caught, at_work(directory):
        return [str(each.message) for each in caught]


def test_one_after_the_other_is_nothing_to_tell(tmp_path: Path) -> None:
    assert begin(tmp_path / "new" / "out") == begin(tmp_path / "new" / "out") == []
    assert list((tmp_path / "new" / "out").iterdir()) == []


def test_the_second_in_a_directory_says_who_is_at_work_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with at_work(out), pytest.warns(UserWarning, match="another sweep") as caught:
        assert run_sweep(fakes.toy_grid(tmp_path, M=[1]), out, 1, run=fakes.run_fake).count == 1
    assert [str(each.message) for each in caught] == [
        f"another sweep is at work in {out}: process {os.getpid()} on {platform.node()}; points that both lack run twice, "
        "and the table will be that of the sweep that ends last"
    ]


@pytest.mark.slow
def test_a_process_that_was_killed_is_not_at_work(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WORKER, tmp_path], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        (sentence,) = begin(tmp_path)
        assert f": process {worker.pid} on " in sentence
        worker.kill()
    (left,) = tmp_path.iterdir()
    assert begin(tmp_path) == []
    run_sweep(fakes.toy_grid(tmp_path, M=[1]), tmp_path, 1, run=fakes.run_fake)
    assert not left.exists()


def test_where_no_file_can_be_made_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    assert begin(tmp_path / "out") == []
