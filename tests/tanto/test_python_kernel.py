"""Python kernels compute the same as their C++ twins in the same time, and what is wrong in them is named with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.frontends.run import run_bench
from kernbench.tanto.api import READER, WRITER, Global, Grid, Kernel, Local, Pipe, Program, Queue, Semaphore
from kernbench.tanto.kernel_functions import read_barrier, write_barrier
from tests.tanto.support import ONE, buffer, device, kernel, pipe, run

CPP = """
param<uint32> scale;
uint32 twice(uint32 x) { return x * 2; }
void kernel(global<uint32> g, local<uint32> l, uint32 n) {
    uint32 total = 0;
    for (uint32 i = 0; i < n; i++) {
        if (i == 2) {
            continue;
        } else if (i % 3 == 1 && i > 3) {
            total += twice(i) + scale;
        } else {
            total -= i > 5 ? i / 2 : i;
        }
        l.set(i, total);
    }
    uint32 left = 3;
    while (left > 0) {
        left -= 1;
        if (left == 1) {
            break;
        }
        l.read(left, l, 0, 1);
    }
    read_barrier();
    l.write(0, g, 0, n);
    write_barrier();
}
"""
PYTHON = """
def twice(x):
    return x * 2

def sums(g: "global<uint32>", l, n: "uint32", *, scale):
    total = 0
    for i in range(n):
        if i == 2:
            continue
        elif i % 3 == 1 and i > 3:
            total += twice(i) + scale
        else:
            total -= i // 2 if i > 5 else i
        l.set(i, uint32(total))
    left = 3
    while left > 0:
        left -= 1
        if left == 1:
            break
        l.read(left, l, 0, 1)
    read_barrier()
    l.write(0, g, 0, n)
    write_barrier()
"""
ARGS = [{"g": 0}, {"l": 1}, 12]


def sums(folder: Path, path: str, args: list[Any] = ARGS, **more: Any) -> tuple[list[int], float | None]:
    chip = device()
    parts: dict[str, Any] = {
        "globals": [buffer(0, 12, "uint32")],
        "locals": [{"id": 1, "fmt": "uint32", "size": 12, "ranges": ONE}],
        "kernels": [kernel(1, path, args, **{"compile_args": [7], **more})],
    }
    found = run(folder, {"k.cpp": CPP, "k.py": PYTHON}, chip, **parts)
    return chip.read(0).tolist(), found.latency_ns


def test_a_python_kernel_of_a_program_file_equals_its_twin(tmp_path: Path) -> None:
    assert sums(tmp_path, "k.py:sums") == sums(tmp_path, "k.cpp")


def test_the_bench_takes_as_long_as_its_twin() -> None:
    sizes = {"cores": 2, "tiles": 4, "frame": 2}
    python, cpp = (
        run_bench("tanto-swish", "tensix_tiny", parameters={**sizes, "language": language}, verify=True)
        for language in ("python", "c++")
    )
    assert python.mismatches == cpp.mismatches == ()
    assert python.latency_ns == cpp.latency_ns


def test_functions_of_the_host_are_kernels() -> None:
    """Closures too; every kind of object, and the raw bits of a bfloat16."""
    count = 4

    def reader(g, p: pipe[uint16], s):  # noqa: F821
        p.reserve_back()
        p.read(0, g, 0, 1024)
        read_barrier()
        for i in range(count):
            p.set(i, p.get(i) + 1)
        p.push_back()
        s.inc(1, 1, 1)

    def writer(g, p, local, s):
        s.wait(1)
        p.wait_front()
        p.write(0, local, 0, 1024)
        write_barrier()
        local.set(9, 0.5 if local.get(8) == 1.0 else 0.0)
        local.write(0, g, 0, 1024)
        write_barrier()
        p.pop_front()

    chip, grid = device(), Grid((0, 0, 0, 0))
    program = Program(chip)
    x, y = Global(chip, "bfloat16", 1024), Global(chip, "bfloat16", 1024)
    p, one = Pipe(program, grid, 0, "bfloat16", 1, 1), Local(program, grid, "bfloat16", 1024)
    s = Semaphore(program, grid)
    Kernel(program, grid, READER, reader).set_args(grid, [x, p, s])
    Kernel(program, grid, WRITER, writer).set_args(grid, [y, p, one, s])
    queue, found = Queue(chip), np.zeros(1024, np.float32)
    queue.enqueue_write(x, np.ones(1024))
    queue.enqueue_program(program)
    queue.enqueue_read(y, found)
    queue.finish()
    assert found[:10].tolist() == [1.0078125] * count + [1.0] * 5 + [0.5]


@pytest.mark.parametrize(
    ("path", "args", "text", "message"),
    [
        ("k.py", ARGS, PYTHON, "k.py has no function 'kernel'; known: sums, twice"),
        ("k.py:sums", ARGS[:2], PYTHON, "writer kernel on core 0,0: got 2 arguments, expected 3: g, l, n"),
        ("k.py:sums", [{"l": 1}, {"l": 1}, 1], PYTHON, "k.py:5:10: writer kernel on core 0,0: argument g: got local 1"),
        ("k.py", ARGS, "def kernel(g, l, n, *, s):\n    l.reed(n)", "k.py:2:5: writer kernel on core 0,0: AttributeError: "),
        ("k.py", ARGS, "def kernel(g, l, n, *, s):\n    l.read(0, n)", "k.py:2:5: writer kernel on core 0,0: local.read "),
        ("k.py", ARGS, "def kernel(g, l, n, *, s):\n    l.set(n / 2, 1)", "local.set: got 6.0, expected a whole number"),
        ("k.py", ARGS, "def kernel(g, l, n, *, s):\n    l.set(n, 1)", "core 0,0: writes elements 12 to 12"),
        ("k.py", ARGS, "def kernel(g, l, n, *, s):\n    with math() as a:\n        pass", "k.py:2:10: math in a writer kernel"),
        ("k.py", ARGS, "def kernel(g, l: 'locl<T>', n, *, s): pass", "k.py:1:15: unknown type 'locl<T>'"),
        ("k.py", ARGS, "def kernel(g, l, n=1, *, s): pass", "k.py:1: a kernel has plain parameters, without * and defaults"),
        ("k.py", ARGS, "import nothing_like_it", "k.py:1: ModuleNotFoundError"),
        ("k.py", ARGS, "def kernel(g, l, n): pass", "got 1 compile-time parameters, expected 0: none"),
    ],
)  # fmt: skip
def test_wrong_python_kernels(tmp_path: Path, path: str, args: list[Any], text: str, message: str) -> None:
    (tmp_path / "k.py").write_text(text)
    chip = device()
    with pytest.raises(InputError) as raised:
        run(
            tmp_path,
            {},
            chip,
            globals=[buffer(0, 12, "uint32")],
            locals=[{"id": 1, "fmt": "uint32", "size": 12, "ranges": ONE}],
            pipes=[pipe(2, 0)],
            kernels=[kernel(1, path, args, compile_args=[7])],
        )
    assert message in str(raised.value)


def test_names_of_the_language_work_in_kernels_alone() -> None:
    with pytest.raises(InputError, match="this works in a running kernel alone"):
        read_barrier()
