"""Programs for tests: kernels from source text on a tiny chip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kernbench.machine import load_machine
from kernbench.tanto.device import Device
from kernbench.tanto.loading import KernelFiles
from kernbench.tanto.program_file import ProgramSpec
from kernbench.tanto.run import TantoResult, run_program

ONE = [[0, 0, 0, 0]]


def device(**options: Any) -> Device:
    """A chip of 2 x 2 cores, at the physical places (1, 1), (2, 1), (1, 2) and (2, 2)."""
    return Device(load_machine("tensix_tiny"), **options)


def pipe(id: int, kind: int, tiles: int = 2, frame: int = 1, fmt: str = "bfloat16", **more: Any) -> dict[str, Any]:
    """The entry of a pipe in a program file."""
    return {"id": id, "kind": kind, "fmt": fmt, "tiles": tiles, "frame": frame, "ranges": ONE, **more}


def kernel(kind: int, name: str, args: list[Any] | dict[str, list[Any]], **more: Any) -> dict[str, Any]:
    """The entry of a kernel in a program file, on one core if the arguments are a list."""
    given = args if isinstance(args, dict) else {"0,0": args}
    return {"kind": kind, "path": name, "ranges": ONE, "args": given, **more}


def buffer(id: int, size: int, fmt: str = "bfloat16", page: int = 1024) -> dict[str, Any]:
    """The entry of a global buffer."""
    return {"id": id, "fmt": fmt, "size": size, "page": page}


def run(
    folder: Path, sources: dict[str, str], chip: Device, numbers: bool = True, mode: str = "hybrid", **program: Any
) -> TantoResult:
    """Run a program whose kernels are texts."""
    for name, text in sources.items():
        (folder / name).write_text(text)
    return run_program(
        chip, ProgramSpec.model_validate(program), KernelFiles(folder), name="test", numbers=numbers, mode=mode
    )


COPY = """
void kernel(pipe<T> x, pipe<T> y, uint32 tiles) {
    for (uint32 i = 0; i < tiles; i++) {
        x.wait_front();
        y.reserve_back();
        math<T> acc;
        acc.copy(x, 0, 0);
        acc.pack(0, y);
        y.push_back();
        x.pop_front();
    }
}
"""
COPY_IN = """
void kernel(global<T> from, pipe<T> into, uint32 tiles) {
    for (uint32 i = 0; i < tiles; i++) {
        into.reserve_back();
        into.read(0, from, i * 1024, 1024);
        read_barrier();
        into.push_back();
    }
}
"""
COPY_OUT = """
void kernel(global<T> to, pipe<T> from, uint32 tiles) {
    for (uint32 i = 0; i < tiles; i++) {
        from.wait_front();
        from.write(0, to, i * 1024, 1024);
        write_barrier();
        from.pop_front();
    }
}
"""


def through(
    folder: Path, math: str, x: np.ndarray, *, chip: Device | None = None, fmt: str = "bfloat16", **more: Any
) -> np.ndarray:
    """Tiles through `void kernel(pipe<T> x, pipe<T> y, uint32 tiles)`, one frame of one tile at a time."""
    chip = chip or device()
    chip.initial[0] = x
    tiles = x.size // 1024
    found = run(
        folder,
        {"in.cpp": COPY_IN, "math.cpp": math, "out.cpp": COPY_OUT},
        chip,
        globals=[buffer(0, x.size, fmt), buffer(1, x.size, fmt)],
        pipes=[pipe(2, 0, fmt=fmt), pipe(3, 1, fmt=fmt)],
        kernels=[
            kernel(0, "in.cpp", [{"g": 0}, {"p": 2}, tiles]),
            kernel(1, "out.cpp", [{"g": 1}, {"p": 3}, tiles]),
            kernel(2, "math.cpp", [{"p": 2}, {"p": 3}, tiles], **more),
        ],
    )
    assert found.status == "ok"
    assert not found.races
    return chip.read(1)


def scalars(
    folder: Path, code: str, count: int, *, args: tuple[int, ...] = (), head: str = "", numbers: bool = True
) -> list[int]:
    """What a reader kernel leaves in `local<uint32> out` with `count` elements; `code` is its body, with arguments a, b, c …"""
    names = "".join(f", uint32 {chr(97 + n)}" for n in range(len(args)))
    source = f"{head}\nvoid kernel(global<uint32> g, local<uint32> out{names}) {{\n{code}\n"
    source += f"out.write(0, g, 0, {count});\nwrite_barrier();\n}}"
    chip = device()
    run(
        folder,
        {"k.cpp": source},
        chip,
        numbers,
        globals=[buffer(0, count, "uint32")],
        locals=[{"id": 1, "fmt": "uint32", "size": count, "ranges": ONE}],
        kernels=[kernel(0, "k.cpp", [{"g": 0}, {"l": 1}, *args])],
    )
    return chip.read(0).tolist()
