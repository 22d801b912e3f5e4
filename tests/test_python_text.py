"""Values that the text of a Python file gives, and those that only running it would give."""

from __future__ import annotations

import gc
import re
import threading
from pathlib import Path
from time import sleep

import pytest

from kernbench.errors import InputError
from kernbench.python_text import Written, parse_python, read_python
from tests.own_files import ROOT

KNOWN = {
    "1 << 20": 1 << 20,
    "-3 * 2 + 7 // 2": -3,
    "1 / 4": 0.25,
    "(1, 'a', True)": (1, "a", True),
    "[*LEVELS, 'x']": ["pe", "cube", "x"],
    "tuple(LEVELS)": ("pe", "cube"),
    "sorted(NAMES)": ["a", "b"],
    "FIRST": "b",
    "{'a': NAMES}": {"a": ("b", "a")},
}
UNKNOWN = ["max(1, 2)", "1 / 0", "1 << 100", "1 << -1", "'a' + 'b'", "LOOP", "TWICE", "GROWN", "np.float16", "sorted(MIXED)",
           "__import__('os').getpid()", "[x for x in ()]", "tuple(1)", "nowhere"]  # fmt: skip
TEXT = """
LEVELS = {"pe": "intra_", "cube": open}
NAMES, FIRST = ("b", "a"), "b"
LOOP = LOOP
TWICE = 1
TWICE = 2
GROWN = 1
GROWN += 1
MIXED = [f(), 1]
"""


@pytest.mark.parametrize("written", [*KNOWN, *UNKNOWN])
def test_values(written: str, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(f"{TEXT}VALUE = {written}\n")
    found = read_python(tmp_path / "x.py", "file").value_of("VALUE")
    assert isinstance(found, Written) == (written in UNKNOWN)
    assert found == KNOWN.get(written, written)


def test_what_is_not_known_stands_by_itself_in_a_list(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("KERNELS = [{'func_id': 0, 'function': gemm}]\n")
    (kernel,) = read_python(tmp_path / "x.py", "file").value_of("KERNELS")
    assert kernel == {"func_id": 0, "function": "gemm"}
    assert isinstance(kernel["function"], Written)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (", "x.py:1: SyntaxError: '(' was never closed; the file does not load"),
        ("x = 1\0", "x.py: "),
        ("x = " + "(" * 3000, "x.py"),
        (None, "cannot read file x.py: No such file or directory"),
    ],
)
def test_what_is_no_python(text: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("x.py").write_text(text)
    with pytest.raises(InputError, match=f"^{re.escape(said)}"):
        read_python(Path("x.py"), "file")


class _Switches:
    """What another thread goes on with when it is collected."""

    def __del__(self) -> None:
        sleep(0)


@pytest.mark.slow
def test_threads_may_parse_at_the_same_time() -> None:
    """Python 3.11 fails where the collector lets another thread parse while a tree is made."""
    text, threshold, failed = (
        (ROOT / "kernbench" / "python_text.py").read_bytes(),
        gc.get_threshold(),
        list[Exception](),
    )

    def parse() -> None:
        for _ in range(40):
            switches = _Switches()
            switches.itself = switches  # type: ignore[attr-defined]
            del switches
            try:
                parse_python(text)
            except SystemError as error:
                failed.append(error)

    threads = [threading.Thread(target=parse) for _ in range(4)]
    gc.set_threshold(20)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*threshold)
    assert failed == []
