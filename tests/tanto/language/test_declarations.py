"""Declarations: objects, arrays, structures, and the functions that take them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.tanto.language.reading import make_source
from kernbench.tanto.language.source import KernelSourceError
from kernbench.tanto.language.translate import translate_source
from tests.tanto.support import scalars

HEAD = """
struct Size { uint32 h, w; uint32 taps[3]; };
using Words = local<uint32>;
enum class Mode : uint32 { NONE, BOTH = 4 };
uint32 area(Size s, uint32 scale = 2) { s.h *= scale; return s.h * s.w; }
void grow(Size &s) { s.h++; s.taps[1] += 5; }
void store(const Words &into, uint32 at, uint32 value) { into.set(at, value); }
namespace { uint32 half(uint32 x) { return x / 2; } }
static_assert(sizeof(T) == 2 && sizeof(uint32) == 4, "sizes");
"""


def test_structures_arrays_and_copies_of_objects(tmp_path: Path) -> None:
    code = """
    Size a = {3, 4, {1, 2}}, b = a;
    grow(b);
    Words copy(out);
    auto again = copy;
    uint32 grid[2][3] = {{1, 2, 3}, {4}};
    grid[1][2] = grid[0][1] += 5;
    local<uint32> both[2] = {out, copy};
    uint32 y(7), sum = 0;
    for (uint32 x : grid[0]) { sum += x; }
    if (uint32 found = half(y)) { sum += found; }
    if (uint32 twice = 2 * y; twice > 13) { sum += uint32{twice}; }
    (void)y;
    store(again, 0, area(a)); again.set(1, area(b, 1)); both[1].set(2, b.taps[1] * 100 + a.taps[1] * 10 + b.taps[2]);
    copy.set(3, grid[1][2] * 10 + grid[1][0]); copy.set(4, sum - 14); out.set(5, uint32(Mode::BOTH));
    Size c; c = b; c.w = 1; out.set(6, b.w * 10 + c.taps[1]);
    """
    assert scalars(tmp_path, code, 7, head=HEAD) == [24, 16, 720, 74, 1 + 7 + 3 + 3, 4, 47]


def test_types_of_a_function(tmp_path: Path) -> None:
    code = "enum { A = 3, B }; struct P { uint32 a; }; using W = uint32; typedef uint32 V, U;"
    code += "P p; p.a = A; W w = B; V v = 1; U u = 2; out.set(0, p.a * 1000 + w * 100 + v * 10 + u);"
    assert scalars(tmp_path, code, 1, head="struct Q; enum class E : uint32;") == [3412]


def test_floats_have_the_precision_of_their_type(tmp_path: Path) -> None:
    code = """
    float step = 0.1f;
    out.set(0, uint32(step * 30.0f));             // 3.0000001 in float32, 2.9999999 if 0.1 were a double
    out.set(1, uint32(16777216.0f + 1.0f));
    out.set(2, uint32(16777216.0 + 1.0));
    out.set(3, 1.0f / (a - 3.0f) > 1e30f);
    float16 small = 2049.0f;
    out.set(4, uint32(small));
    float x = (float(a) + 0.5f) * 1.5f - 0.5f;    // as an interpolation computes its coordinates
    int low = int(x);
    out.set(5, uint32(low) * 1000 + uint32((x - float(low)) * 256.0f));
    out.set(6, a > 2 ? uint32(2.5) : 0);
    bfloat16 coarse = 259.0f;
    out.set(7, uint32(coarse));
    out.set(8, uint32(bfloat16(a + 256)));
    coarse += 3.0f;
    out.set(9, uint32(coarse));
    out.set(10, uint32(float16(bfloat16(1023.0f)) + 1.0f));
    """
    found = [3, 16777216, 16777217, 1, 2048, 4 * 1000 + 192, 2, 258, 258, 260, 1021]
    assert scalars(tmp_path, code, 11, args=(3,)) == found


def test_overloads_are_chosen_by_the_number_and_the_types_of_arguments(tmp_path: Path) -> None:
    head = """
    uint32 pick(uint32 a);
    uint32 pick(uint32 a, uint32 b) { return pick(a) + b; }
    uint32 pick(local<uint32> l) { return 100; }
    uint32 pick(float a) { return 1000; }
    uint32 pick(uint32 a) { return a; }
    void swap(uint32 &a, uint32 &b) { uint32 t = a; a = b; b = t; }
    void swap(uint32 &a) { a = 5; }
    """
    code = "uint32 x = 1, y = 2; swap(x, y); swap(y);"
    code += "out.set(0, pick(3)); out.set(1, pick(3, 4)); out.set(2, pick(out)); out.set(3, pick(1.0f));"
    code += "out.set(4, x * 10 + y);"
    assert scalars(tmp_path, code, 5, head=head) == [3, 7, 100, 1000, 25]


def test_only_the_file_is_checked_where_values_are_not_given() -> None:
    text = "param<uint32> n;\nvoid kernel() { uint32 x[n * 2]; }"
    assert translate_source(make_source("k.cpp", text)).params[0][0] == "n"
    assert "* 6" in translate_source(make_source("k.cpp", text), (3,)).python


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("struct S { uint32 a; }; void kernel() { S s; s.b = 1; }", "S has no field 'b'"),
        ("struct S { uint32 a; void f(); }; void kernel() {}", "a field of a structure is a name"),
        ("struct { uint32 a; }; void kernel() {}", "a structure has a name"),
        ("void kernel() { uint32 x[2] = {1, 2, 3}; }", "uint32[2] takes 2 values, got 3"),
        ("void f(uint32 a, uint32 b = 1) {} void kernel() { f(); }", "f takes 1 to 2 arguments, got 0"),
        ("static_assert(1 > 2, \"never\"); void kernel() {}", "static_assert fails: \"never\""),
        ("void kernel() { uint32 x[2], i = 0; x[i++] += 1; }", "whose index changes something; use two statements"),
        ("struct S { uint32 a; }; void kernel() { uint32 x = sizeof(S); }", "S has no size here"),
        ("void kernel() { for (uint32 x : 3) {} }", "a loop over int32; it goes over the values of an array"),
    ],
)  # fmt: skip
def test_wrong_declarations_are_named(text: str, message: str) -> None:
    with pytest.raises(KernelSourceError) as raised:
        translate_source(make_source("k.cpp", text, {"T": "bfloat16"}))
    assert message in str(raised.value)


def test_a_reference_is_a_second_name(tmp_path: Path) -> None:
    code = """
    uint32 a = 5; uint32 &b = a; auto &c = b; const uint32 &d = c, &e = a + 1;
    b += 3; grow_by(c, 2); a++;
    out.set(0, a); out.set(1, d); out.set(2, e);
    """
    head = "void grow_by(uint32 &x, uint32 by) { uint32 &y = x; y += by; }"
    assert scalars(tmp_path, code, 3, head=head) == [11, 11, 6]


@pytest.mark.parametrize("wrong", ["uint32 &r;", "uint32 &r = 5;", "int &r = a;", "const uint32 k = 1; uint32 &r = k;"])
def test_a_reference_takes_a_variable_of_its_type(wrong: str) -> None:
    source = make_source("k.cpp", f"void kernel() {{ uint32 a = 1; {wrong} }}", {"T": "bfloat16"})
    with pytest.raises(KernelSourceError, match=r"k\.cpp:1:\d+: a reference to \w+ takes a variable of that type"):
        translate_source(source)
