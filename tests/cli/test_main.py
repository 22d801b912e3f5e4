"""The command line: lazy imports and errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click
import pytest

from kernbench.cli import main as cli
from kernbench.errors import InputError, RunError

HEAVY = ("numba", "polars", "scipy", "numpy", "matplotlib", "networkx", "pydantic", "yaml", "rich", "greenlet")


def run_with(monkeypatch: pytest.MonkeyPatch, error: BaseException, *options: str) -> int:
    """The exit code of a command that raises."""

    @click.command("run")
    def command() -> None:
        raise error

    monkeypatch.setattr("kernbench.cli.run.command", command)
    return cli.main(["run", *options])


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import json, sys\nfrom kernbench.cli.main import main\nassert main(['--help']) == 0\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Run a bench on a machine" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_python_m_kernbench_is_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-m", "kernbench", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("kernbench ")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_of_the_table_exists_and_helps(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--debug" in shown
    assert shown.count("--debug") == 1


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lst"]) == 2
    known = ", ".join(sorted(cli.COMMANDS))
    assert f"there is no command 'lst'; did you mean 'list'? Known: {known}" in capsys.readouterr().err


def test_an_unknown_option_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "x", "--nonsense"]) == 2
    assert "No such option '--nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize(("error", "code"), [(InputError("no such bench"), 2), (RunError("the run failed"), 1)])
def test_an_error_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, code: int
) -> None:
    assert run_with(monkeypatch, error) == code
    captured = capsys.readouterr()
    assert captured.err == f"error: {error}\n"
    assert captured.out == ""


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with(monkeypatch, InputError("no such bench"), "--debug") == 2
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback (most recent call last):")
    assert shown.endswith("error: no such bench\n")


def test_a_bug_is_one_sentence_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with(monkeypatch, KeyError("pe9")) == 1
    assert capsys.readouterr().err == (
        "error: this is a bug in kernbench or in code it was given: KeyError: 'pe9'; --debug shows where\n"
    )


@pytest.mark.parametrize("shell", ["kernbench list 2>&-", "kernbench run vector-add -t tiny 2>&- >&-"])
def test_closed_streams_do_no_harm(shell: str) -> None:
    command = shell.replace("kernbench", f"{sys.executable} -m kernbench", 1)
    assert subprocess.run(command, shell=True, check=False, stdout=subprocess.PIPE).returncode == 0


def test_a_terminal_without_all_letters_gets_others() -> None:
    command = [sys.executable, "-m", "kernbench", "run", "vector-add", "-t", "tiny", "--mode", "analytic"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "\nlatency    ? 10,354.475 ns" in done.stdout


def test_a_full_disk_is_no_bug() -> None:
    done = subprocess.run(
        f"{sys.executable} -m kernbench list > /dev/full", shell=True, check=False, stderr=subprocess.PIPE
    )
    assert (done.returncode, done.stderr) == (1, b"error: the output cannot be written: No space left on device\n")


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err.endswith("error: interrupted\n")
