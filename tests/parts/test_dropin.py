"""Loading of drop-ins, and the error sentences of files that are none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernbench.errors import InputError
from kernbench.parts import dropin
from kernbench.parts.compute import PeGemm
from kernbench.parts.fabric import Noc

HEAD = "from typing import ClassVar\nfrom kernbench.parts.part import Part\n"
GEMM = (
    'class Fast(Part):\n    kind: ClassVar[str] = "pe_gemm"\n    cycles: int\n'
    '    def product(self, m, k, n, bits):\n        return {"cycles": m}\n'
)


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()

    def write(text: str) -> Path:
        file = tmp_path / "models" / "fast.py"
        file.write_text(text)
        return file

    return write


def test_the_one_public_part_of_the_file_is_taken(write):
    found = dropin.load_class(write(HEAD + GEMM + GEMM.replace("Fast", "_Base")), PeGemm)
    assert (found.__name__, found.kind, found.ports) == ("Fast", "pe_gemm", PeGemm.ports)
    assert found(cycles=3).product(7, 1, 1, 16) == {"cycles": 7}


def test_a_part_may_derive_from_the_standard_one(write):
    file = write(
        "from kernbench.parts.compute import PeGemm\nclass Padded(PeGemm):\n"
        "    def product(self, m, k, n, bits):\n        return super().product(-(-m // 32) * 32, k, n, bits)\n"
    )
    padded = dropin.load_class(file, PeGemm)(tflops_f8=2, tflops_f16=1, tflops_f32=0.5)
    assert padded.product(1, 2, 3, 16) == {"flop_16": 2 * 32 * 2 * 3}


def test_a_file_is_run_once_for_each_text(write):
    first = dropin.load_class(write(HEAD + GEMM), PeGemm)
    assert dropin.load_class(write(HEAD + GEMM), PeGemm) is first
    assert dropin.load_class(write(HEAD + GEMM + "\n"), PeGemm) is not first


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "from __future__ import annotations\n" + HEAD + GEMM.replace("cycles: int", "cycles: cycles"),
            "models/fast.py:4: a field of Fast has the type 'cycles', which this file does not define",
        ),
        (
            "from __future__ import annotations\n" + HEAD + GEMM.replace("cycles: int", "cycles: Fast"),
            "models/fast.py:4: the field 'cycles' of Fast is a part; give it the type of a number or a text",
        ),
        ("import nope", "models/fast.py:1: ModuleNotFoundError: No module named 'nope'; the drop-in does not load"),
        ("x = 1\ny = 1 / 0", "models/fast.py:2: ZeroDivisionError: division by zero; the drop-in does not load"),
        ("\nclass :", "models/fast.py:2: SyntaxError: invalid syntax; the drop-in does not load"),
        ("raise SystemExit('no')", "models/fast.py:1: SystemExit: no; the drop-in does not load"),
        (
            "from kernbench.parts.compute import PeGemm",
            "models/fast.py: the drop-in has no part; define a class that derives from kernbench.parts.compute.PeGemm "
            "or from kernbench.parts.part.Part",
        ),
        (
            HEAD + GEMM + GEMM.replace("Fast", "Faster"),
            "models/fast.py: the drop-in has several parts: Fast at models/fast.py:3, Faster at models/fast.py:8; begin the "
            "names of all but one with '_'",
        ),
        (
            HEAD + GEMM.replace("pe_gemm", "pe_math"),
            "models/fast.py:3: Fast is a part of kind 'pe_math', but its sheet is of 'pe_gemm'; make them agree",
        ),
        (
            HEAD + "class Fast(Part):\n    cycles: int\n",
            "models/fast.py:3: Fast is a part of kind None, but its sheet is of 'pe_gemm'; make them agree",
        ),
        (HEAD + GEMM.replace("product", "produce"), "models/fast.py:3: Fast has no 'product'; every pe_gemm gives product"),
    ],
)  # fmt: skip
def test_what_is_no_drop_in(write, text, said):
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        dropin.load_class(write(text), PeGemm)


def test_all_ports_of_a_kind_are_named(write):
    file = write(HEAD + 'class Fast(Part):\n    kind: ClassVar[str] = "noc"\n    gbs: float\n')
    with pytest.raises(InputError, match=r"has no 'overhead_fs'; every noc gives overhead_fs, gbs, attach_mm$"):
        dropin.load_class(file, Noc)


def test_a_machine_does_not_ask_another_text_than_it_was_compiled_with(write):
    file = write(HEAD + GEMM)
    text = dropin.hash_file(file)
    assert dropin.make(file, text, {"cycles": 4}, PeGemm).model_dump() == {"cycles": 4}
    write(HEAD + GEMM + "#")
    with pytest.raises(
        InputError, match=r"^models/fast.py has changed since the machine was compiled; load the machine again$"
    ):
        dropin.make(file, text, {"cycles": 4}, PeGemm)


def test_a_file_that_is_gone(tmp_path):
    with pytest.raises(InputError, match=r"fast.py: No such file or directory$"):
        dropin.load_class(tmp_path / "fast.py", PeGemm)
