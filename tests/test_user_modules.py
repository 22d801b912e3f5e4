"""Running files by path, and the errors of files that raise."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from kernbench.errors import InputError, KernelError, LimitError, OutOfMemoryError, RunError, error_text
from kernbench.user_modules import execute, line_of, raised


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
