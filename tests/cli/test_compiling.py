"""What is compiled is told on stderr: each second in one line of a terminal, else a line each ten seconds."""

from __future__ import annotations

import io
import json
import sys

import pytest

from kernbench.cli.output.compiling import announce_compiling
from kernbench.engine.jit_status import describe
from kernels_jit.compile import progress
from kernels_jit.compile.progress import Compiling, compiling


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def listened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the command listen, and nobody after the test."""
    monkeypatch.setattr(progress, "_listener", None)
    announce_compiling()


def tell(*heard: Compiling | None) -> None:
    assert progress._listener is not None
    for now in heard:
        progress._listener(now)


def at(seconds: float) -> Compiling:
    return Compiling("run", 120, 181, seconds)


def test_a_file_gets_a_line_each_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    tell(at(1), at(2), at(10.5), at(11.1), at(20.9), None, at(1), None)
    lines = [f"compiling the simulator, once: run, 120 of 181 functions, {seconds} s" for seconds in (1, 11, 1)]
    assert capsys.readouterr() == ("", "\n".join(lines) + "\n")


def test_a_terminal_gets_one_line_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "__stderr__", screen)
    tell(at(1), at(2), None)
    line = "\r\033[Kcompiling the simulator, once: run, 120 of 181 functions, {} s"
    assert screen.getvalue() == line.format(1) + line.format(2) + "\r\033[K"


def test_below_a_progress_bar_a_terminal_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    tell(at(1), at(2), None)
    assert screen.getvalue().endswith(" 1 s\n")


def test_a_job_tells_its_stage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("KERNBENCH_JOB", "1")
    tell(at(1), at(2), None)
    stages = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    told = [f"compiling the simulator, once: run, 120 of 181 functions, {seconds} s" for seconds in (1, 2)]
    assert stages == [{"stage": stage, "share": None} for stage in told]


def test_what_is_told() -> None:
    assert describe(Compiling("run", 181, 181, 9.7)) == "compiling the simulator, once: run, machine code, 10 s"
    assert describe(Compiling(None, 0, 0, 3)) == "waiting for another process that compiles the simulator, 3 s"


def test_what_takes_no_second_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    with compiling(test_what_is_told):
        pass
    assert capsys.readouterr() == ("", "")
