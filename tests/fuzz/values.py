"""Values that inputs do not expect: numbers at edges of their types, quantities, texts of every sort."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from tests.fuzz.document import Pairs, Raw

NUMBERS = (
    0, -1, 1, 2, 3, 7, 255, 1 << 15, (1 << 31) - 1, 1 << 31, 1 << 32, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, 1 << 64, 10**19,
    10**40, -(1 << 63), -(1 << 64), -0.0, 0.1, 0.5, 1.5, 1e-3, 1e-9, 1e-15, 1e-300, 5e-324, 1e9, 1e15, 1e19, 1e300,
    1.7976931348623157e308, math.nan, math.inf, -math.inf,
)  # fmt: skip
UNITS = (
    "B", "KiB", "MiB", "GiB", "KB", "GB", "ns", "us", "ps", "s", "GB/s", "MB/s", "TB/s", "GHz", "MHz", "TFLOPS", "mm", "ns/mm",
    "cycles", "%", "b", "gb/s", "µs", "parsec",
)  # fmt: skip
TEXTS = (
    "", " ", "~", "null", "true", "NaN", "-inf", "on", "1_000", "0x10", "0o7", "0b1", "1e9999", "1e-9999", "1e999999999",
    "--", "１２", "½", "٣", "²", "1,5", "+1", "1:30", "2026-11-23", "\x00", "a\x00b", "\x1b[31mred", "\x7f", "\x85",
    "\u2028", "\u202e", "\ufeff", "\ud800", "a\u0301", "ﬀ", "İ", "\U0001f600", "a\nb", "a\tb", "a\r\nb", "$", "$$",
    "$x^{$", "$\\frac{1}{2}$", "a_b$c_d$", "\\", "\\n", "'", '"', "`", "<script>alert(1)</script>", "&amp;", "]]>",
    "<!--", "|", "a|b", "%s", "%", "{}", "{0}", "{x}", "{{}}", "[red]x[/red]", "[/]", "*", "**", "?", "!", "#", "@", "&a",
    "*a", ":", "a:b", "=", "a=b", ",", ";", "..", "../x", "../../x", "./x", "x/", ".", "-", "--help", "-x", "~/x",
    "/dev/null", "/dev/null/x", "/dev/zero", "/proc/self/mem", "/dev/stdin", "CON", "key", "status", "latency_ns",
    "__class__", "__init__", "self", "None", "True", "inf", "tiny", "sip_2x4x4", "mesh_8x8", "vector-add", "f16", "i32",
    "f8", "bf16", "r0c0", "sip0", "sip0.cube0.pe0", "host", "topology", "topology.", "topology.hbm.channel_gbs", "hbm",
)  # fmt: skip
RAW = (
    "!!python/object/apply:os.system [echo]", "!!binary aGVsbG8=", "!!set {a, b}", "!x y", "&a [*a]", "&a {x: *a}",
    "*nowhere", "<<", "{<<: {a: 1}}", "[", "]", "{", "}", "- - -", "? a", "|", ">", "|+9\n x", "%YAML 9.9", "---", "...",
    "'", '"', "\t", "@x", "{a: 1, a: 2}", "[1, 2", "0o17", "1_2_3", ".5", "5.", "1e5", "0x", "+.inf", ".NaN", "12e03",
    "=", "\\", "a: b: c", "# x", "''", '"\\x00"', '"\\ud800"', '"\\q"', '"\\U0001F600"', "!!float 1", "!!str 1",
    "!!int '3'", "! 1",
)  # fmt: skip


def draw_number(random: Random) -> int | float:
    """A number at an edge."""
    return random.choice(NUMBERS)


def draw_quantity(random: Random) -> str:
    """A number with a unit, right or wrong."""
    number = random.choice([random.choice(NUMBERS), random.randint(1, 100), random.choice(TEXTS[:20])])
    return f"{number}{random.choice(['', ' ', '  '])}{random.choice(UNITS)}"


def draw_text(random: Random) -> str:
    """A text of some sort; one in ten is long."""
    text = random.choice(TEXTS)
    shape = random.random()
    if shape < 0.03:
        return ((text or "x") * 5000)[: random.choice([100, 5000])]
    if shape < 0.1:
        return random.choice("1x([{-.9") * random.choice([30, 300, 1100, 5000])
    return text + random.choice(TEXTS) if shape < 0.2 else text


def draw_scalar(random: Random) -> Any:
    """Any value that is no collection."""
    pick = random.random()
    if pick < 0.4:
        return draw_number(random)
    if pick < 0.55:
        return draw_quantity(random)
    return draw_text(random) if pick < 0.9 else random.choice([None, True, False])


def draw_value(random: Random, depth: int = 2) -> Any:
    """Any value: mostly a scalar, else a collection or a spelling that only YAML knows."""
    pick = random.random()
    if pick < 0.75 or not depth:
        return draw_scalar(random)
    if pick < 0.82:
        return Raw(random.choice(RAW))
    if pick < 0.9:
        return [draw_value(random, depth - 1) for _ in range(random.choice([0, 1, 2, 3]))]
    if pick < 0.98:
        return Pairs([draw_text(random), draw_value(random, depth - 1)] for _ in range(random.choice([0, 1, 2])))
    depth = random.choice([10, 49, 52, 3000])
    return Raw("[" * depth + "1" + "]" * random.choice([depth, depth, depth - 1]))


def vary(random: Random, value: Any) -> Any:
    """A value like this one: of the same type, and not far from it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice(
            [
                value + 1,
                value - 1,
                value * 2,
                value // 2,
                value * 3,
                value + 1,
                0,
                1,
                float(value),
                value * 1000,
                -value,
            ]
        )
    if isinstance(value, float):
        return random.choice(
            [
                value * 2,
                value / 2,
                value * 1.1,
                value * 1e6,
                value / 1e6,
                -value,
                0.0,
                round(value) if abs(value) < 1e9 else 1,
            ]
        )
    if isinstance(value, str) and not isinstance(value, Raw):
        return vary_text(random, value)
    return draw_value(random)


def vary_text(random: Random, text: str) -> str:
    """A text with one small change: a character, a part, its case, or something before or behind it."""
    at = random.randrange(len(text) + 1)
    return random.choice(
        [
            text[:at] + text[at + 1 :],
            text[:at] + random.choice(TEXTS) + text[at:],
            text[:at] + text[at:][::-1],
            text[:at],
            text.upper(),
            text + text,
            text[:at] + str(draw_number(random)) + text[at:],
            text[:at] + str(draw_number(random)) + text[at + 1 :],
            text.replace(".", random.choice([":", "..", " ", "/"]), 1),
            text.replace(" ", random.choice(["", "\t", "\u00a0"]), 1),
        ]
    )
