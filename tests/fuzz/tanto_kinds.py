"""Kinds of input of Tanto: program files, kernel sources, kernel maps and buffers, each with odd content."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from tests.fuzz import document
from tests.fuzz.case import Case
from tests.fuzz.commands import confine
from tests.fuzz.mutation import mutate_bytes, mutate_tree

ONE = [[0, 0, 0, 0]]
SOURCES = {
    "read.cpp": """param<uint32> step;
void kernel(global<T> gx, pipe<T> px, uint32 n, semaphore done) {
    for (uint32 i = 0; i < n; i += step) {
        px.reserve_back();
        px.read(0, gx, i * 1024, 1024);
        read_barrier();
        px.push_back();
    }
    done.set(1);
}
""",
    "math.cpp": """void square(math<T> acc, pipe<T> px) { acc.mul(px, px, 0, 0, 0); }
void kernel(pipe<T> px, pipe<T> py, uint32 n) {
    for (uint32 i = 0; i < n; i++) {
        px.wait_front();
        py.reserve_back();
        {
            math<T> acc;
            square(acc, px);
            if (i & 1) { acc.relu_max(0, 0x40c00000); } else { acc.exp(0); }
            acc.pack(0, py);
        }
        py.push_back();
        px.pop_front();
    }
}
""",
    "write.cpp": """#define STEP 1
void kernel(global<T> gy, pipe<T> py, uint32 n, local<uint32> table) {
    uint32 at = 0;
    while (at < n) {
        py.wait_front();
        uint32 to = table.get(0) + at;
        py.write(0, gy, to * 1024, 1024);
        write_barrier();
        py.pop_front();
        at += STEP;
    }
}
""",
}
PROGRAM: dict[str, Any] = {
    "globals": [{"id": id, "fmt": "bfloat16", "size": 4096, "page": 1024} for id in (0, 1)],
    "device_locals": [{"id": 6, "fmt": "uint32", "size": 4, "ranges": ONE}],
    "locals": [{"id": 4, "fmt": "uint32", "size": 63, "ranges": ONE}],
    "pipes": [
        {"id": 2, "kind": 0, "fmt": "bfloat16", "tiles": 2, "frame": 1, "local": -1, "ranges": ONE},
        {"id": 3, "kind": 1, "fmt": "bfloat16", "tiles": 2, "frame": 1, "local": -1, "ranges": ONE},
    ],
    "semaphores": [{"id": 7, "init": 0, "ranges": [[0, 0, 1, 1]]}],
    "kernels": [
        {
            "kind": 0, "path": "read.cpp", "compile_args": [1], "ranges": ONE,
            "args": {"0,0": [{"g": 0}, {"p": 2}, 4, {"s": 7}]},
        },
        {"kind": 2, "path": "math.cpp", "ranges": ONE, "args": {"0,0": [{"p": 2}, {"p": 3}, 4]}},
        {"kind": 1, "path": "write.cpp", "ranges": ONE, "args": {"0,0": [{"g": 1}, {"p": 3}, 4, {"l": 4}]}},
    ],
}  # fmt: skip
MAP: dict[str, Any] = {"read.cpp": {"src": "read.cpp", "params": [1]}, "other": "math.cpp"}
_TOKENS = re.compile(r"\w+|[^\w\s]")
_ODD = (
    "while", "(", ")", "{", "}", ";", "0xFFFFFFFF", "-1", "1e9", "math<T> b;", "goto x;", "T", "pipe<T>", "uint32", "/*", "\"",
    "#if 1", "#define A A", "return", "%", "/ 0", "<< 99", "n[0]", "kernel", "square(acc, px)", "acc.nothing()",
    "ä", "::", "&", "?:",
    "px.set_frame(3);", "gx", "for (;;) {}", "1" * 40, "switch (n) { default: break; }", "float f = 1.0 / 0;",
)  # fmt: skip
_OPTIONS = (
    [], ["--json"], ["--no-data"], ["--explain"], ["--rounding", "nearest"], ["-D", "T=float32"], ["-D", "T=nothing"],
    ["-D", "n=7"], ["--out", "o"], ["--kernel-map", "map.json"], ["--in", "0=x.bin"], ["--in", "0=x.npy"],
    ["--set", "tensix_core.l1_bytes=4 KiB"], ["--set", "flow_control=credit"], ["--mode", "flit"],
)  # fmt: skip


def draw_program(drawn: Any) -> Case:
    """A program file with odd content, and what goes with it, which is run."""
    random: Random = drawn.random
    program = _spoil(random, PROGRAM)
    sources = {name: _spoil_source(random, text) if random.random() < 0.1 else text for name, text in SOURCES.items()}
    return _run(random, program, sources, _spoil(random, MAP))


def draw_kernel(drawn: Any) -> Case:
    """A kernel with odd text, which is checked or run."""
    random: Random = drawn.random
    name = random.choice(list(SOURCES))
    spoilt = {**SOURCES, name: _spoil_source(random, SOURCES[name])}
    if random.random() < 0.4:
        content = spoilt[name].encode(random.choice(["utf-8", "latin-1"]), "replace")
        content = mutate_bytes(random, content) if random.random() < 0.3 else content
        words = ["tanto", "check", name, *random.choice([[], ["--json"], ["-D", "T=float32"]])]
        return Case(confine(words), {name: content})
    return _run(random, json.dumps(PROGRAM).encode(), spoilt, json.dumps(MAP).encode())


def _run(random: Random, program: bytes, sources: dict[str, str], kernel_map: bytes) -> Case:
    words = ["tanto", "run", "p.json", "--kernels", ".", "-t", "tensix_tiny", "--time-limit", "10 s"]
    words += [word for option in random.sample(_OPTIONS, random.choice([0, 1, 2])) for word in option]
    files = {name: text.encode("utf-8", "replace") for name, text in sources.items()}
    array = b"\x93NUMPY" + random.randbytes(random.choice([0, 80]))
    files |= {"p.json": program, "map.json": kernel_map, "x.bin": bytes(random.choice([8192, 5])), "x.npy": array}
    return Case(confine(words), files)


def _spoil(random: Random, tree: Any) -> bytes:
    tree = mutate_tree(random, document.copy(tree), [PROGRAM, MAP])
    try:
        text = json.dumps(tree, default=str).encode(errors="replace")
    except (TypeError, ValueError):  # keys that JSON has not
        text = repr(tree).encode(errors="replace")
    return mutate_bytes(random, text) if random.random() < 0.1 else text


def _spoil_source(random: Random, text: str) -> str:
    """A source of which some tokens are left out, doubled, exchanged, or replaced by odd ones."""
    for _ in range(random.choice([1, 1, 2, 4])):
        found = list(_TOKENS.finditer(text))
        if not found:
            return text
        one, other = random.choice(found), random.choice(found)
        new = random.choice(
            [random.choice(_ODD), "", other[0], f"{one[0]} {one[0]}", f"{one[0]} {random.choice(_ODD)}"]
        )
        text = text[: one.start()] + new + text[one.end() :]
    return text
