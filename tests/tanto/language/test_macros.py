"""Macros are expanded as C++ does, and what is wrong in them is named where they are used."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.tanto.language.reading import make_source
from kernbench.tanto.language.source import KernelSourceError
from kernbench.tanto.language.translate import translate_source
from tests.tanto.support import scalars


@pytest.mark.parametrize(
    ("head", "code", "expected"),
    [
        ("#define MIN(a, b) ((a) < (b) ? (a) : (b))", "out.set(0, MIN(9, MIN(7, 8)));", 7),
        ("#define TWICE(x) x + x", "out.set(0, 3 * TWICE(2));", 8),  # a macro is text
        ("#define NEGATIVE -1", "out.set(0, 3 -NEGATIVE);", 4),
        ("#define LOOP(i, n) for (uint32 i = 0; i < n; i++)", "uint32 s = 0; LOOP(i, 5) { s += i; } out.set(0, s);", 10),
        ("#define PUT(at, x) out.set(at, x); \\\n  out.set(at, x + 1)", "PUT(0, 4);", 5),
        ("#define JOIN(a, b) a##b\n#define ONE 1", "uint32 x1 = 6; out.set(0, JOIN(x, 1) + ONE);", 7),
        ("#define WORD uint32\n#define LAST 2", "WORD x[LAST] = {1, 2}; out.set(0, x[LAST - 1]);", 2),
        ("#define A B + 1\n#define B A + 2", "uint32 A = 1; out.set(0, A);", None),
        ("#define CALL(f, ...) f(__VA_ARGS__)\nuint32 sub(int a, int b) { return a - b; }", "out.set(0, CALL(sub, 7, 2));", 5),
        ("#define SUM(a, b) (a + b)", "out.set(0, SUM(1,\n  SUM(2, 3)));", 6),
        ("#if !2 == 0 && 7 / 2 == 3 && (1 ? 0 : 1) == 0\n#define X 1\n#else\n#define X 2\n#endif", "out.set(0, X);", 1),
    ],
)  # fmt: skip
def test_macros(tmp_path: Path, head: str, code: str, expected: int | None) -> None:
    if expected is None:
        with pytest.raises(KernelSourceError):
            scalars(tmp_path, code, 1, head=head)
    else:
        assert scalars(tmp_path, code, 1, head=head) == [expected]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "#define F(x) (x) + y\nvoid kernel() {\n  uint32 a = 1 + F(2);\n}",
            "k.cpp:3:18: in macro F: unknown name 'y'",
        ),
        ("#define F(x) x\nvoid kernel() {\n  uint32 a = F(1), b = c;\n}", "k.cpp:3:24: unknown name 'c'"),
        ("#define F(x) x\nvoid kernel() { F(1, 2); }", "k.cpp:2:17: macro F takes 1 arguments, got 2"),
        ("#define F(x) x\nvoid kernel() { F(1; }", "k.cpp:2:17: the arguments of macro F have no end; add ')'"),
        ("#define F(x x\nvoid kernel() {}", "k.cpp:1:1: the parameters of macro F have no end; add ')'"),
        ("#ifdef T\n#error no kernel for T\n#endif", "k.cpp:2:1: #error no kernel for T"),
        (
            "\n".join([f"#define M{i + 1} M{i} M{i}" for i in range(20)]) + "\nvoid kernel() { M20; }",
            "k.cpp:21:17: macro ",
        ),
    ],
)
def test_what_is_wrong_in_a_macro(text: str, message: str) -> None:
    with pytest.raises(KernelSourceError) as raised:
        translate_source(make_source("k.cpp", text, {"T": "bfloat16"}))
    assert message in str(raised.value)
