"""Arithmetic of kernels is that of C++ with 32 bits, which random expressions compare with plain integers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kernbench.tanto.language.source import KernelSourceError
from tests.engine.fresh import run_seed
from tests.tanto.support import scalars

M = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a - b", (3 - 7) & M),
        ("a * 0x80000001u + b", (3 * 0x80000001 + 7) & M),
        ("uint32(-1)", M),
        ("uint32(int32(a) - 5) >> 31", 1),
        ("b / a + b % a", 3),
        ("1 << (a + 32)", 8),  # counts are taken mod 32
        ("0x80000000 >> (b - 3)", 0x08000000),
        ("~a & 0xff", 0xFC),
        ("a < b ? 10 : 20", 10),
        ("(a == 3 && b != 7) || !a", 0),
        ("a - b < 10", 0),  # unsigned: the difference is large
        ("(a - b + 1) / 2", ((-3) & M) // 2),
        ("uint16(a - b) / 2", 65532 // 2),
        ("uint32((uint64(a - b) + 8) >> 32)", 1),  # it wraps before it is made wider
        ("int32(a) - int32(b) < 10", 1),
        ("uint32(-7 / 2)", (-3) & M),  # towards zero
        ("uint32(-7 % 2)", (-1) & M),
        ("uint16(a * 30000)", 90000 & 0xFFFF),
        ("uint32(int8(200))", (200 - 256) & M),
        ("uint32(1.5f * 3)", 4),
        ("(a ^ b) | 0x10", 20),
        ("010 + 0b11", 11),
        ("-a", (-3) & M),
        ("uint32(b > a) + true", 2),
        ("sizes[2] + F(2)", 35),
        ("static_cast<uint32>(a) + (uint32)b", 10),
        ("(uint32)(a + b) * 2", 20),
        ("uint32((int8)(200) + 300)", 244),
        ("(uint32)-a / 2", ((-3) & M) // 2),  # the cast binds closer than what follows
        ("uint32(b * 2 + (int64)-a % 5 * 2 + 1)", 14 + (-3 & M) % 5 * 2 + 1),
        ("(a * (b * a)) - b", 56),  # no cast to a type of pointers to functions
        ("((sizes[1]) * (b * a)) - b", 413),
    ],
)
def test_expressions(tmp_path: Path, code: str, expected: int) -> None:
    head = "#define F(x) ((x) * (x) + 1)\nstatic const uint32 sizes[] = {10, 20, 30};"
    assert scalars(tmp_path, f"out.set(0, {code});", 1, args=(3, 7), head=head) == [expected]


def _draw(rng: random.Random, depth: int) -> tuple[str, int]:
    """A random expression over uint32, and its value."""
    if depth == 0 or rng.random() < 0.2:
        name, value = rng.choice([("a", 123456789), ("b", 0xFFFFFFF0), ("c", 17), ("7u", 7), ("0x9000u", 0x9000)])
        return name, value
    (left, x), (right, y) = _draw(rng, depth - 1), _draw(rng, depth - 1)
    operator = rng.choice("+-*&|^<>/%s")
    if operator == "s":
        return f"({left} >> {right})", x >> (y % 32)
    if operator in "/%":
        value = x // (y | 1) if operator == "/" else x % (y | 1)
        return f"({left} {operator} ({right} | 1u))", value
    if operator in "<>":
        condition = x < y if operator == "<" else x > y
        return f"({left} {operator} {right} ? {left} : {right})", x if condition else y
    found = {"+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y}[operator]
    return f"({left} {operator} {right})", found & M


def test_random_expressions(tmp_path: Path) -> None:
    rng = random.Random(run_seed())
    drawn = [_draw(rng, 5) for _ in range(60)]
    code = "\n".join(f"out.set({at}, {text});" for at, (text, _) in enumerate(drawn))
    assert scalars(tmp_path, code, len(drawn), args=(123456789, 0xFFFFFFF0, 17)) == [value for _, value in drawn]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("out.set(0, nothing);", "k.cpp:3:12: unknown name 'nothing'; known: "),
        ("out.set(0, 1 / 0);", "k.cpp:3:12: division by zero"),
        ("out.put(0, 1);", "k.cpp:3:5: unknown method 'put' of local<uint32>; "),
        ("out.set(0);", "k.cpp:3:1: out.set takes (uint32, T), got (int32)"),
        ("out.read(0, g, 0);", "k.cpp:3:1: out.read takes "),
        ("out.set(0, BLOCK);", "k.cpp:3:12: macro or name 'BLOCK' is not defined"),
        ("half x = 1;", "k.cpp:3:1: unknown type 'half'; known: "),
        ("tensor<uint32> x;", "k.cpp:3:1: unknown type 'tensor'"),
        ("foo(1);", "k.cpp:3:1: unknown function 'foo'; "),
        ("const uint32 n = 1; n = 2;", "k.cpp:3:21: n is a constant and cannot be changed"),
        ("uint32 x = g;", "k.cpp:3:8: got global<uint32>, expected a number of type uint32"),
        ("uint32 x = 1\nout.set(0, x);", "k.cpp:3:12: syntax error at '1'"),
        ("uint32 x = 1; uint32 x = 2;", "k.cpp:3:22: x is declared twice in one block"),
        ("break;", "k.cpp:3:1: break outside of a loop"),
        ("goto end;", "k.cpp:3:1: the language has no goto statement"),
        ("return 1;", "k.cpp:3:1: a void function returns no value"),
        ("uint32 x[2]; x[2] = 1;", "k.cpp:3:14: index 2 of an array of 2"),
        ("global<uint32> h;", "k.cpp:3:16: global<uint32> objects come as arguments of the kernel; h has no value"),
        ("out.set(0, g + 1);", "k.cpp:3:12: global<uint32> + int32; both sides must be numbers"),
    ],
)
def test_wrong_expressions_are_named_with_their_place(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(KernelSourceError) as raised:
        scalars(tmp_path, code, 1)
    assert message in str(raised.value)
    assert str(raised.value).split("\n")[1].strip() in code
    assert str(raised.value).endswith("^")


def test_a_step_gives_the_value_before_it_in_its_own_type(tmp_path: Path) -> None:
    code = """
    float f = 1.5f; uint16 w = 65535; int8 c = 127;
    out.set(0, uint32(f++ * 2)); out.set(1, uint32(f-- * 2)); out.set(2, uint32(f * 2));
    out.set(3, w++); out.set(4, w); out.set(5, uint32(c++)); out.set(6, uint32(int32(c)));
    """
    assert scalars(tmp_path, code, 7) == [3, 5, 3, 65535, 0, 127, M & -128]
