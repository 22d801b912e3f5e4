"""Progress of long runs: only on a terminal, and only after the first report of a run."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from kernbench.cli.output.progress import progress, status_line

SAYING = """
from kernbench.cli.output.progress import status_line
with status_line() as say:
    say("the third case")
print(True)
"""
SCRIPT = """
from kernbench.cli.output.progress import progress
with progress() as display:
    if {told}:
        display.on_progress(250, 1000, 7_000_000)
print(display.on_progress is None)
"""
COMMAND = """
from kernbench.cli.main import main
print(main({arguments}))
"""

SWEEPING = """
from types import SimpleNamespace
from kernbench.cli.output.sweep_progress import show_progress
from kernbench.sweep.execution.point_progress import PointProgress
plan = SimpleNamespace(points=range(4), missing=range(4), most_points=4)
with show_progress(plan) as (on_point, on_progress):
    on_point(SimpleNamespace(index=0), {{}})
    on_progress(PointProgress(1, "simulating", 250, 7_000_000, 0.25))
    on_progress(PointProgress(2, "recording the bench"))
    {then}
"""


def output_on_a_terminal(script: str, columns: int = 160) -> tuple[str, str]:
    """What a process writes on a terminal of a width that is its stderr, and on stdout."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": f"{columns}"},
    )
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 4096):  # as it is written: a terminal holds few characters
            seen += chunk
    except OSError:  # the other end is closed: all has been read
        pass
    os.close(ours)
    said, _ = process.communicate()
    assert process.returncode == 0, seen
    return seen.decode(), said.decode().strip()


def test_a_terminal_sees_how_far_a_run_has_come():
    shown, silent = output_on_a_terminal(SCRIPT.format(told=True))
    assert silent == "False"
    assert "simulating: 250 flits served, 7 ns simulated, 25%" in shown


def test_a_run_that_tells_nothing_shows_nothing():
    shown, _ = output_on_a_terminal(SCRIPT.format(told=False))
    assert "served" not in shown


def test_elsewhere_there_is_silence(monkeypatch, capfd):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with progress() as display:
        display.say("the third case")
        assert display.on_progress is None
    assert capfd.readouterr() == ("", "")


def test_a_terminal_sees_what_is_being_done():
    shown, _ = output_on_a_terminal(SAYING)
    assert "the third case" in shown


def test_a_terminal_sees_how_far_points_of_a_sweep_have_come():
    shown, _ = output_on_a_terminal(SWEEPING.format(then=""))
    assert "1/4" in shown
    assert "point 3: recording the bench" in shown
    again = "on_progress(PointProgress(1, 'simulating', 250, 7_000_000, 0.25))"
    shown, _ = output_on_a_terminal(SWEEPING.format(then=again))
    assert "point 2: simulating, 250 flits served, 7 ns simulated, 25%" in shown


def test_elsewhere_nothing_is_said(monkeypatch, capfd):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with status_line() as say:
        say("the third case")
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_terminal_sees_each_stage_of_a_command(tmp_path):
    """Of the last stage of each command, as a line is drawn ten times a second and earlier ones may be shorter."""
    out = str(tmp_path / "out")
    run = ["run", "gemm-single-pe", "--topology", "tiny"]
    for arguments, last in (
        ([*run, "--out", out], "writing the op log"),
        ([*run, "--explain"], "runs done"),
        (["diagram", "--topology", "tiny", "--out", out], "drawing the view of the pe"),
    ):
        shown, printed = output_on_a_terminal(COMMAND.format(arguments=arguments))
        assert printed.splitlines()[-1] == "0"
        assert last in shown


def test_a_job_writes_lines_of_json(monkeypatch, capfd):
    """What is done next at once; how much of it is done a few times a second."""
    monkeypatch.setenv("KERNBENCH_JOB", "1")
    with progress() as display:
        display.say("recording the bench")
        display.say("simulating")
        for done in range(100):
            display.on_runs(done, 100)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert lines[:2] == [{"stage": "recording the bench", "share": None}, {"stage": "simulating", "share": None}]
    assert len(lines) < 50
    assert all(line["stage"].startswith("what if: ") and line["share"] < 1 for line in lines[2:])


LONG = """
from types import SimpleNamespace
from kernbench.cli.output.progress import progress
from kernbench.cli.output.sweep_progress import show_progress
from kernbench.sweep.execution.point_progress import PointProgress
plan = SimpleNamespace(points=range({points}), missing=range({points}), most_points={points})
with show_progress(plan) as (_, on_progress):
    on_progress(PointProgress(4, "simulating", 558_316, 0, 0.4))
with progress() as display:
    display.on_progress(250_558_316, 1_000_000_000, 7_000_000)
"""


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("points", [5, 12_345])
def test_the_bar_gives_way_and_no_time_is_cut(points: int, columns: int) -> None:
    shown, _ = output_on_a_terminal(LONG.format(points=points), columns)
    lines = [line for line in re.split(r"[\r\n]", re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown)) if line.strip()]
    assert lines
    assert max(map(len, lines)) <= columns
    assert all(re.search(r" 0:00:\d\d (left )?(-:--:--|0:00:\d\d)", line) for line in lines)
    assert any(f"0/{points}" in line for line in lines)
