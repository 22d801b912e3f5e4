"""Running files by path, and the errors of files that raise."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from kernbench.errors import InputError, KernelError, LimitError, OutOfMemoryError, RunError, error_text
from kernbench.library import find
from kernbench.user_modules import execute, line_of, note_code, permit, raised


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str) -> Path:
    (folder / "mine.py").write_text(text)
    return folder / "mine.py"


def test_a_file_becomes_a_module_of_its_own(here: Path) -> None:
    file = write(here, "from dataclasses import dataclass\n@dataclass\nclass Pair:\n    a: 'int'\n    b: 'int' = 2\n")
    module = execute(file, "models", "drop-in")
    assert (module.__name__, module.__file__) == ("kernbench_models.mine", str(file))
    assert module.Pair(1).b == 2
    assert "mine" not in sys.modules


def test_ctrl_c_within_an_import_of_a_file_is_no_error_of_the_file(here: Path) -> None:
    file = write(
        here,
        "try:\n    raise KeyboardInterrupt\nexcept KeyboardInterrupt as stop:\n    raise ImportError('x') from stop\n",
    )
    with pytest.raises(KeyboardInterrupt):
        execute(file, "models", "drop-in")


def test_a_file_is_run_anew_each_time(here: Path) -> None:
    file = write(here, "x = []\n")
    assert execute(file, "models", "drop-in").x is not execute(file, "models", "drop-in").x


@pytest.mark.parametrize(
    ("text", "said_of_it"),
    [
        ("x = 1\nraise ValueError('two\\nlines')", "mine.py:2: ValueError: two lines; the drop-in does not load"),
        ("def f():\n    return 1 / 0\nf()\n", "mine.py:2: ZeroDivisionError: division by zero; the drop-in does not load"),
        ("x = (", "mine.py:1: SyntaxError: '(' was never closed; the drop-in does not load"),
        ("import sys\nsys.exit(3)", "mine.py:2: SystemExit: 3; the drop-in does not load"),
        ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
         "mine.py:3: E: its text raises ValueError; the drop-in does not load"),
        ("class E(Exception):\n    def __str__(self): return 1\nraise E",
         "mine.py:3: E: its text raises TypeError; the drop-in does not load"),
        ("raise ValueError", "mine.py:1: ValueError; the drop-in does not load"),
        (
            "from decimal import Decimal\nDecimal(10).sqrt(3)",
            "mine.py:2: TypeError: optional argument must be a context; the drop-in does not load",
        ),
    ],
)  # fmt: skip
def test_what_it_raises_is_told_with_its_line(here: Path, text: str, said_of_it: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(said_of_it)}$"):
        execute(write(here, text), "models", "drop-in")


def test_our_own_errors_stay_as_they_are(here: Path) -> None:
    with pytest.raises(RunError, match=r"^as it is$"):
        execute(write(here, "from kernbench import RunError\nraise RunError('as it is')"), "models", "drop-in")


def test_a_file_that_cannot_be_read(here: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot read drop-in none.py: No such file or directory$"):
        execute(here / "none.py", "models", "drop-in")


@pytest.fixture
def sent(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A process that may run files of benches/ whose text is one; the file that holds that text."""
    (here / "benches").mkdir()
    file = write(here / "benches", "x = 1\n")
    noted = note_code([file])
    assert list(noted) == [str(file)]
    for name, value in permit([here / "benches"], noted.values()).items():
        monkeypatch.setenv(name, value)
    return file


def test_a_process_runs_the_files_that_it_may(sent: Path) -> None:
    assert execute(sent, "benches", "bench file").x == 1
    assert execute(
        find("models", "systolic").with_suffix(".py"), "models", "drop-in"
    ).SystolicArray  # shipped ones always


def test_a_process_runs_no_file_of_another_text(sent: Path) -> None:
    sent.write_text("raise SystemExit\n")
    with pytest.raises(
        InputError, match=r"^bench file benches/mine.py is not the file that the run noted; run it again"
    ):
        execute(sent, "benches", "bench file")


@pytest.mark.parametrize("place", ["elsewhere", "benches/deeper", "results/benches"])
@pytest.mark.parametrize("link", [False, True], ids=["path", "link"])
def test_a_process_runs_no_file_of_another_folder(place: str, link: bool, sent: Path) -> None:
    folder = sent.parent.parent / place
    folder.mkdir(parents=True)
    file = write(folder, sent.read_text())
    if link:
        file = sent.parent / "linked.py"
        file.symlink_to(folder / "mine.py")
    with pytest.raises(InputError, match=r"mine.py stands in no folder|linked.py stands in no folder"):
        execute(file, "benches", "bench file")
    with pytest.raises(
        InputError, match="stands in no folder whose files the viewer may run; if you trust its directory, "
    ):
        execute(folder / ".." / folder.name / "mine.py", "benches", "bench file")


def test_full_memory_is_a_limit_and_no_fault_of_the_file(here: Path) -> None:
    file = write(here, "raise MemoryError('Unable to allocate 1 PiB')")
    with pytest.raises(
        LimitError, match=r"^drop-in mine.py does not load: this computer's memory is full .+: Unable to"
    ):
        execute(file, "models", "drop-in")


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (ValueError("a\nb"), KernelError, r"kernel k raised ValueError: a b, at k.py:3"),
        (
            MemoryError(),
            LimitError,
            r"kernel k, at k.py:3: this computer's memory is full \(.+\); make the run smaller",
        ),
        (OutOfMemoryError("hbm"), KernelError, r"kernel k raised OutOfMemoryError: hbm, at k.py:3"),
    ],
)
def test_what_code_of_users_raises_in_a_run(error: Exception, kind: type[RunError], told: str) -> None:
    found = raised("kernel k", error, "k.py:3", KernelError)
    assert type(found) is kind
    assert re.fullmatch(told, str(found))


def test_an_error_from_elsewhere_has_no_line(here: Path) -> None:
    error = ValueError("no")
    assert (line_of(error, here / "mine.py"), error_text(error)) == ("mine.py", "ValueError: no")
