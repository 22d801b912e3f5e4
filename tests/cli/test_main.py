"""The command line: lazy imports and errors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from kernbench.cli import main as cli
from kernbench.errors import InputError, RunError

HEAVY = ("numba", "polars", "scipy", "numpy", "matplotlib", "networkx", "pydantic", "yaml", "rich", "greenlet")
NOT_KEPT = ("polars", "scipy.sparse", "networkx", "pydantic", "numba.np.arrayobj", "numba.cpython.charseq")


def run_with(monkeypatch: pytest.MonkeyPatch, error: BaseException, *options: str) -> int:
    """The exit code of a command that raises."""

    @click.command("run")
    def command() -> None:
        raise error

    monkeypatch.setattr("kernbench.cli.commands.run.command", command)
    return cli.main(["run", *options])


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import json, sys\nfrom kernbench.cli.main import main\nassert main(['--help']) == 0\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Run a program on a machine" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_names_and_fields_are_shown_without_the_simulator() -> None:
    words = ["list"], ["show", "tiny"], ["show", "tanto-matmul"], ["show", "quickstart"], ["run", "--help"]
    script = (
        "import sys\nfrom kernbench.cli.main import main\n"
        f"for words in {words!r}:\n"
        "    assert main(words) == 0\n    assert 'numba' not in sys.modules, words"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)


def test_a_run_with_all_that_is_kept_loads_neither_the_checker_nor_rules_for_arrays() -> None:
    """Machines are kept without pydantic; compiled functions that make no arrays load without numba's rules for them."""
    words = ["run", "gemm-single-pe", "--topology", "tiny"], ["run", "vector-add", "--topology", "tiny", "--live"]
    script = (
        "import json, sys\nfrom kernbench.cli.main import main\n"
        f"for line in {words!r}:\n    assert main(line) == 0\n"
        f"    print(json.dumps([name for name in {NOT_KEPT!r} if name in sys.modules]))"
    )
    for _ in ("keeps", "has kept"):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")] == [[], []]


def test_python_m_kernbench_is_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-m", "kernbench", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("kernbench ")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_of_the_table_exists_and_helps(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--debug" in shown
    assert shown.count("--debug") == 1


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("words", [["run", "ccl-allreduce"], ["sweep"], ["check"], ["run"]], ids=" ".join)
def test_help_is_broken_at_blanks_alone(
    words: list[str], width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lines_at(columns: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setitem(cli.kernbench.context_settings, "max_content_width", 10_000)
        assert cli.main([*words, "--help"]) == 0
        return capsys.readouterr().out.splitlines()

    lines = lines_at(width)
    assert max(map(len, lines)) < width
    assert " ".join(lines).split() == " ".join(lines_at(10_000)).split()
    assert not any(line.endswith(" 10") for line in lines)  # of "10 min"


def test_help_has_the_whole_sentence_of_each_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert cli.COMMANDS["sweep"] in shown
    assert "..." not in shown.partition("Commands:")[2]


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lst"]) == 2
    known = ", ".join(sorted(cli.COMMANDS))
    assert f"there is no command 'lst'; did you mean 'list'? Known: {known}" in capsys.readouterr().err
    assert cli.main(["pto", "rn"]) == 2
    assert "there is no command 'rn'; did you mean 'run'? Known: replay, run, sweep" in capsys.readouterr().err


def test_an_unknown_option_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "x", "--nonsense"]) == 2
    assert capsys.readouterr().err == "error: no such option '--nonsense'; kernbench run --help says what it takes\n"


@pytest.mark.parametrize(("error", "code"), [(InputError("no such bench"), 2), (RunError("the run failed"), 1)])
def test_an_error_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, code: int
) -> None:
    assert run_with(monkeypatch, error) == code
    captured = capsys.readouterr()
    assert captured.err == f"error: {error}\n"
    assert captured.out == ""


@pytest.mark.parametrize("error", [InputError("a \x07\u202e b"), click.UsageError("a \x07\u202e b")])
def test_what_a_file_holds_does_not_steer_the_terminal(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_with(monkeypatch, error) == 2
    (line,) = capsys.readouterr().err.lower().splitlines()
    assert line.removesuffix("; kernbench run --help says what it takes") == r"error: a \x07\u202e b"


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with(monkeypatch, InputError("no such bench"), "--debug") == 2
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback (most recent call last):")
    assert shown.endswith("error: no such bench\n")


def test_memory_that_is_full_is_no_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with(monkeypatch, MemoryError("Unable to allocate 1.45 GiB")) == 1
    assert re.fullmatch(
        r"error: this computer's memory is full \(.+ are free\): Unable to allocate 1\.45 GiB; "
        r"make what is asked for smaller\n",
        capsys.readouterr().err,
    )


class MuteError(Exception):
    """An error of a user whose text raises."""

    def __str__(self) -> str:
        raise ValueError("no")


class MuteInputError(MuteError, InputError):
    """The same of ours."""


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (
            MuteError(),
            1,
            "this is a bug in kernbench or in code it was given: MuteError: its text raises ValueError; --debug shows where",
        ),
        (MuteInputError(), 2, "its text raises ValueError"),
    ],
)
def test_an_error_whose_text_raises_is_one_sentence(
    error: Exception, code: int, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_with(monkeypatch, error) == code
    assert capsys.readouterr().err == f"error: {told}\n"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold RLIMIT_AS")
def test_a_limit_of_address_space_is_named() -> None:
    command = f"ulimit -v 60000; exec {sys.executable} -m kernbench list"  # less than numpy takes
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(
        r"error: the address space that ulimit -v leaves this process is full \(.+ are free\); "
        r"raise that limit, or make what is asked for smaller\n",
        done.stderr,
    )


def test_a_bug_is_one_sentence_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with(monkeypatch, KeyError("pe9")) == 1
    assert capsys.readouterr().err == (
        "error: this is a bug in kernbench or in code it was given: KeyError: 'pe9'; --debug shows where\n"
    )


def test_a_terminal_without_all_letters_gets_others() -> None:
    command = [sys.executable, "-m", "kernbench", "run", "vector-add", "-t", "tiny", "--mode", "analytic"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "\nlatency    ? 10,354.475 ns" in done.stdout


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err.endswith("error: interrupted\n")


def stop_and_raise(error: Exception, *, cause: bool = False) -> None:
    """Do as a library does that is interrupted within its import."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as interruption:
        raise error from (interruption if cause else error.__cause__)


@pytest.mark.parametrize("cause", [True, False])
@pytest.mark.parametrize("error", [ImportError("no core"), SystemError("initialization failed")])
def test_an_error_that_follows_from_ctrl_c_is_that(
    error: Exception, cause: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_calling(monkeypatch, lambda: stop_and_raise(error, cause=cause)) == 130
    assert capsys.readouterr().err.endswith("error: interrupted\n")


def test_ctrl_c_within_the_imports_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise ImportError('no core') from KeyboardInterrupt()\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-m", "kernbench", "list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_what_cannot_be_kept_after_ctrl_c_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_calling(monkeypatch, lambda: stop_and_raise(RunError("the disk is full"))) == 1
    assert capsys.readouterr().err == "error: the disk is full\n"


def test_signals_have_exit_codes_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background ignores
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        before = signal.getsignal(number)
        assert run_calling(monkeypatch, lambda number=number: os.kill(os.getpid(), number)) == code
        assert capsys.readouterr().err.endswith("error: interrupted\n")
        assert signal.getsignal(number) == before
    signal.signal(signal.SIGINT, heard)


def test_ctrl_c_while_a_string_is_executed(tmp_path: Path) -> None:
    """As imports of libraries do: Python would end itself by SIGINT, though it has been handled."""
    bench = tmp_path / "own.py"
    bench.write_text(
        "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "exec('os.kill(os.getpid(), signal.SIGINT)\\nwhile True: pass')\n"
    )
    command = [sys.executable, "-m", "kernbench", "run", str(bench), "-t", "tiny"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "\nerror: interrupted\n")


def test_a_caller_who_ignores_sigterm_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert run_calling(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGTERM)) == 0
    finally:
        signal.signal(signal.SIGTERM, before)


def run_calling(monkeypatch: pytest.MonkeyPatch, call: Callable[[], None]) -> int:
    """The exit code of a command that calls something."""

    @click.command("run")
    def command() -> None:
        call()

    monkeypatch.setattr("kernbench.cli.commands.run.command", command)
    return cli.main(["run"])


def in_shell(command: str, cwd: str | os.PathLike[str]) -> tuple[int, str]:
    """The exit code of `kernbench` in a command of bash, where it is called $K, and what it printed on stderr."""
    script = f"{command.replace('$K', f'{sys.executable} -m kernbench')}\nexit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=cwd, check=False)
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("$K list | true", 141, ""),
        ("$K list --json | true", 141, ""),
        ("$K --help | true", 141, ""),
        ("$K show sip_2x4x4 | true", 141, ""),
        ("$K run vector-add -t tiny --mode analytic | true", 141, ""),
        ("$K probe -t tiny 2>&1 | true", 141, ""),
        ("$K list > /dev/full", 1, "error: the output cannot be written: No space left on device\n"),
        ("$K show nothing > /dev/full 2> /dev/full", 2, ""),
        ("$K run vector-add -t tiny > /dev/full 2> /dev/full", 1, ""),
        ("$K show nothing 2>&-", 2, ""),
        ("$K list 2>&-", 0, ""),
        ("$K list >&-", 0, ""),
        ("$K --help >&- 2>&-", 0, ""),
        ("$K --help <&-", 0, ""),
    ],
)
def test_streams_that_take_nothing(command: str, code: int, told: str, tmp_path: Path) -> None:
    assert in_shell(command, tmp_path) == (code, told)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            {"KERNBENCH_CODE": "benches"},
            "KERNBENCH_CODE is 'benches', which only the viewer gives to its jobs; unset it",
        ),
        ({"KERNBENCH_CHECKED": "maybe"}, "KERNBENCH_CHECKED is 'maybe'; give 0 or 1"),
        (
            {"KERNBENCH_CACHE": "/dev/null"},
            "KERNBENCH_CACHE is /dev/null, which cannot be a directory: it is a file; give another, or unset it",
        ),
        (
            {"KERNBENCH_CACHE": "/dev/null/x"},
            "KERNBENCH_CACHE is /dev/null/x, which cannot be a directory: Not a directory; give another, or unset it",
        ),
        (
            {"KERNBENCH_CACHE": "x" * 256},
            f"KERNBENCH_CACHE is {'x' * 256}, which cannot be a directory: File name too long; give another, or unset it",
        ),
    ],
)
def test_environment_variables_are_checked(
    variables: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cli.main(["list"]) == 2
    assert capsys.readouterr().err == f"error: the environment variable {said}\n"


def test_other_variables_are_let_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNBENCH_OF_SOMEBODY", "x")
    monkeypatch.setenv("KERNBENCH_CHECKED", "")
    monkeypatch.setenv("KERNBENCH_CACHE", str(tmp_path / "not" / "yet"))
    assert cli.main(["--version"]) == 0


def test_a_warning_is_told_once_in_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command("run")
    def command() -> None:
        for what in ("a file", "another", "a file"):
            warnings.warn(f"skipped: {what}", stacklevel=1)

    monkeypatch.setattr("kernbench.cli.commands.run.command", command)
    monkeypatch.setattr("warnings.filters", [("always", None, Warning, None, 0)])
    for _ in range(2):
        assert cli.main(["run"]) == 0
        assert capsys.readouterr().err == "warning: skipped: a file\nwarning: skipped: another\n"
