"""Statements of kernels, and functions with references."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.tanto.language.source import KernelSourceError
from kernbench.tanto.language.translate import translate
from tests.tanto.support import scalars, through


def test_loops_with_continue_and_break(tmp_path: Path) -> None:
    code = """
    uint32 sum = 0;
    for (uint32 i = 0, j = 100; i < j; i++, j--) {
        if (i == 3) continue;
        if (i == 6) break;
        sum += i;
    }
    uint32 n = 10;
    while (true) { if (--n < 4) break; }
    uint32 m = 0;
    do { m++; if (m == 2) continue; } while (m < 5);
    out.set(0, sum); out.set(1, n); out.set(2, m);
    """
    assert scalars(tmp_path, code, 3) == [0 + 1 + 2 + 4 + 5, 3, 5]


def test_switch_falls_through_and_continues_the_loop(tmp_path: Path) -> None:
    code = """
    uint32 sum = 0;
    for (uint32 i = 0; i < 6; i++) {
        switch (i) {
        case 0:
            sum += 1;
            break;
        case 1:
        case 2:
            sum += 10;
        case 3:
            sum += 100;
            continue;
        default:
            sum += 1000;
        }
        sum += 10000;
    }
    out.set(0, sum);
    """
    assert scalars(tmp_path, code, 1) == [1 + 2 * 110 + 100 + 2 * 1000 + 3 * 10000]


def test_references_change_the_variables_of_the_caller(tmp_path: Path) -> None:
    head = """
    void advance(uint32 &x, uint32 &y, const uint32 &step) { x += step; if (x >= 10) { x -= 10; y++; } }
    void twice(uint32 &x, uint32 &y) { advance(x, y, 7); advance(x, y, 7); }
    uint32 fact(uint32 n) { return n < 2 ? 1 : n * fact(n - 1); }
    """
    code = "uint32 x = 0, y = 0; for (uint32 i = 0; i < 5; ++i) { twice(x, y); }"
    code += "out.set(0, x); out.set(1, y); out.set(2, fact(5));"
    assert scalars(tmp_path, code, 3, head=head) == [0, 7, 120]


def test_assignments_and_increments_are_values(tmp_path: Path) -> None:
    code = """
    uint32 i = 0, x[3] = {5};
    uint32 j = i++ + ++i;
    x[1] = x[2] = 9;
    i >>= 1; i <<= 33; i |= 8; i ^= 1; i %= 8; i -= 4;
    out.set(0, j); out.set(1, x[0] + x[1] + x[2]); out.set(2, i); out.set(3, x[j--]); out.set(4, j);
    """
    assert scalars(tmp_path, code, 5) == [2, 23, (11 % 8 - 4) & 0xFFFFFFFF, 9, 1]


def test_names_of_inner_blocks_hide_outer_ones(tmp_path: Path) -> None:
    code = "uint32 x = 1; { uint32 x = 2; { uint32 x = 3; out.set(0, x); } out.set(1, x); } out.set(2, x);"
    assert scalars(tmp_path, code, 3) == [3, 2, 1]


def test_names_of_python_are_no_names_of_the_module(tmp_path: Path) -> None:
    assert scalars(
        tmp_path, "uint32 lambda = 1, K = 2, None = 3, def = 4; out.set(0, lambda + K + None + def);", 1
    ) == [10]


def test_enumerations_aliases_and_macros(tmp_path: Path) -> None:
    head = "enum { A, B = 5, C };\nusing word = uint32;\ntypedef uint32 other;\n#define N (B + 1)\n#define U uint32\n"
    assert scalars(
        tmp_path, "word x = A + C; other y = N; U z = B; out.set(0, x); out.set(1, y + z);", 2, head=head
    ) == [6, 11]


def test_a_math_object_ends_where_its_scope_is_left(tmp_path: Path) -> None:
    import numpy as np

    math = """
    uint32 one(pipe<T> x, pipe<T> y, uint32 i) {
        math<T> acc;
        acc.copy(x, 0, 0);
        acc.pack(0, y);
        return i;
    }
    void kernel(pipe<T> x, pipe<T> y, uint32 tiles) {
        for (uint32 i = 0; i < tiles; i++) {
            x.wait_front();
            y.reserve_back();
            while (true) {
                if (i % 2) { one(x, y, i); break; }
                math<T> acc;
                acc.copy(x, 0, 0);
                acc.pack(0, y);
                break;
            }
            y.push_back();
            x.pop_front();
        }
    }
    """
    values = np.arange(4096) // 32.0
    assert np.array_equal(through(tmp_path, math, values), values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("void kernel(uint32 a) {", "k.cpp:1:23: '{' is never closed"),
        ("void kernel() {\n  if (1) {\n    }\n  }\n}", "k.cpp:5:1: '}' closes nothing"),
        ("void kernel() {\n  uint32 x = (1;\n}", "k.cpp:3:1: '}' closes nothing; '(' of line 2 is open"),
        (
            "void kernel() { uint32 x = " + "1 + " * 30 + "y" + " + 1" * 30 + "; }",
            f"  ...{'1 + ' * 20}y{' + 1' * 19} + ...\n{' ' * 85}^",
        ),
        ("uint32 x;", "no function 'kernel'"),
        ("f() {} void kernel() {}", "function f has no result type; void is one"),
        ("int kernel() { return 1; }", "kernel returns int32, expected void"),
        ("void kernel(uint32 &x) {}", "the kernel's own parameters are no references"),
        ("void kernel() {} void kernel() {}", "function kernel is defined twice"),
        ("union S { uint32 a; }; void kernel() {}", "the language has no union specifier at global scope"),
        ("kernel() {}", "k.cpp:1:1: function kernel has no result type; void is one"),
        ("void kernel(uint32 n) { n = n ?: 2; }", "there is no value between ? and :"),
        ("param<uint32> n = 3; void kernel() {}", "a param<> is declared without a value; the host gives it"),
        (
            "void f(uint32 &x) {} void kernel() { f(3); }",
            "a reference to uint32 takes a variable of that type, got '3'",
        ),
        ("void f(); void kernel() { f(); }", "function f is declared but has no body"),
        ("#if 1\nvoid kernel() {}", "#if without #endif; add it"),
        ("#endif\nvoid kernel() {}", "#endif without #if"),
        ("#frob\nvoid kernel() {}", "unknown directive #frob"),
        ("#if f(2)\n#endif\nvoid kernel() {}", "is no expression"),
        ("math<T> acc; void kernel() {}", "math<bfloat16> objects are parameters of kernel, not global"),
        ("void kernel() { math<T> a = 3; }", "a math object is declared without a value"),
    ],
)
def test_wrong_files_are_named_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "k.cpp").write_text(text)
    with pytest.raises(KernelSourceError) as raised:
        translate(tmp_path / "k.cpp")
    assert message in str(raised.value)
    assert "k.cpp:" in str(raised.value)


def test_params_are_given_by_position(tmp_path: Path) -> None:
    (tmp_path / "k.cpp").write_text("param<uint32> a;\nparam<uint32> b, c;\nvoid kernel() {}")
    assert translate(tmp_path / "k.cpp", None, (1, 2, 3)).params == [
        (name, translate(tmp_path / "k.cpp").params[0][1]) for name in "abc"
    ]
    with pytest.raises(KernelSourceError, match="got 1 compile-time parameters, expected 3: a, b, c"):
        translate(tmp_path / "k.cpp", None, (1,))


def test_latin_1_and_carriage_returns(tmp_path: Path) -> None:
    (tmp_path / "k.cpp").write_bytes("// caf\xe9\r\nvoid kernel(uint32 n) {\r\n}\r\n".encode("latin-1"))
    assert [p.name for p in translate(tmp_path / "k.cpp").parameters] == ["n"]
    (tmp_path / "k.cpp").write_bytes("/* \xe9 */ void kernel() { x; }".encode("latin-1"))
    with pytest.raises(KernelSourceError, match=r"k\.cpp:1:25: unknown name 'x'"):
        translate(tmp_path / "k.cpp")


@pytest.mark.parametrize(
    ("directives", "kept"),
    [
        ("#if 1\nA\n#else\nB\n#endif", "A"),
        ("#if defined(X) && X >= 3\nA\n#elif !defined(Y)\nB\n#else\nC\n#endif", "B"),
        ("#define X 0x4\n#if X == 4\n#ifdef X\nA\n#endif\n#else\nB\n#endif", "A"),
        ("#define X\n#undef X\n#ifndef X\nA\n#endif // end", "A"),
        ("#if 0\n#if 1\nA\n#endif\n#else\nB\n#endif", "B"),
    ],
)
def test_conditions_of_the_preprocessor(tmp_path: Path, directives: str, kept: str) -> None:
    names = {"A": "first", "B": "second", "C": "third"}
    for letter, name in names.items():
        directives = directives.replace(f"\n{letter}\n", f"\nvoid {name}() {{}}\n")
    (tmp_path / "k.cpp").write_text(f"{directives}\nvoid kernel() {{}}")
    assert translate(tmp_path / "k.cpp").functions == [names[kept], "kernel"]
