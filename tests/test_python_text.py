"""Values that the text of a Python file gives, and those that only running it would give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernbench.errors import InputError
from kernbench.python_text import Written, read_python

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
