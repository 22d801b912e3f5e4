"""Transfers between buffers of one and of several cores, and what lies in the same place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernbench.tanto.cores.kernel import TantoError
from tests.tanto.support import COPY_OUT, ONE, buffer, device, kernel, pipe, run

ALL = [[0, 0, 1, 1]]
PLACES = {(0, 0): (1, 1), (1, 0): (2, 1), (0, 1): (1, 2), (1, 1): (2, 2)}


def local(id: int, size: int, fmt: str = "uint32", ranges: Any = ALL) -> dict[str, Any]:
    return {"id": id, "fmt": fmt, "size": size, "ranges": ranges}


def on_all(make: Any) -> dict[str, list[Any]]:
    """Arguments on all four cores."""
    return {f"{x},{y}": make((x, y)) for x, y in PLACES}


@pytest.mark.parametrize("network", [0, 1])
def test_multicast_with_a_handshake(tmp_path: Path, network: int) -> None:
    source = """
    void kernel(global<uint32> g, local<uint32> data, semaphore ready, semaphore valid, uint32 sends, uint32 x0, uint32 y0,
                uint32 x1, uint32 y1, uint32 me) {
        for (uint32 round = 0; round < 3; round++) {
            if (sends) {
                for (uint32 i = 0; i < 8; i++) { data.set(i, round * 100 + i); }
                ready.wait(3);
                ready.set(0);
                valid.set(1);
                data.write_mcast(2, data, 2, 6, x0, y0, x1, y1, 3);
                valid.set_mcast(valid, x0, y0, x1, y1, 3);
            } else {
                valid.set(0);
                ready.inc(1, 1, 1);
                valid.wait(1);
            }
            data.write(0, g, (round * 4 + me) * 8, 8);
            write_barrier();
        }
    }
    """
    corners = (1, 1, 2, 2) if network == 0 else (2, 2, 1, 1)
    chip = device()
    found = run(
        tmp_path,
        {"k.cpp": source},
        chip,
        globals=[buffer(0, 96, "uint32")],
        locals=[local(1, 8)],
        semaphores=[{"id": 2, "init": 0, "ranges": ALL}, {"id": 3, "init": 0, "ranges": ALL}],
        kernels=[
            kernel(
                1 - network,
                "k.cpp",
                on_all(lambda c: [{"g": 0}, {"l": 1}, {"s": 2}, {"s": 3}, int(c == (0, 0)), *corners, c[0] + 2 * c[1]]),
                ranges=ALL,
            )
        ],
    )
    want = np.array([[[r * 100 + i if c == 0 or i >= 2 else 0 for i in range(8)] for c in range(4)] for r in range(3)])
    assert np.array_equal(chip.read(0).reshape(3, 4, 8), want)
    assert found.latency_ns


def test_transfers_between_cores_and_moves(tmp_path: Path) -> None:
    source = """
    void kernel(global<uint32> g, local<uint32> a, local<uint32> b, semaphore s, semaphore t, uint32 x, uint32 y, uint32 me) {
        for (uint32 i = 0; i < 4; i++) { a.set(i, me * 10 + i); }
        s.inc(x, y, 2);
        s.wait(2);
        b.read(0, a, 1, 2, x, y);
        b.write(0, b, 4, 1);
        read_barrier();
        b.move_init(2);
        b.move(2, a, 2);
        read_barrier();
        t.set_remote(s, x, y);
        t.wait(2);
        a.write(0, b, 6, 2, x, y);
        write_barrier();
        s.set_remote(t, x, y);
        b.write_mcast_with_self(0, b, 5, 1, 1, 1, 1, 1, 1);
        b.write(0, g, me * 8, 8);
        write_barrier();
    }
    """
    chip = device()
    two = [[0, 0, 1, 0]]
    run(
        tmp_path,
        {"k.cpp": source},
        chip,
        globals=[buffer(0, 16, "uint32")],
        locals=[local(1, 4), local(2, 8)],
        semaphores=[{"id": 3, "init": 0, "ranges": two}, {"id": 4, "init": 0, "ranges": two}],
        kernels=[
            kernel(
                0,
                "k.cpp",
                {
                    "0,0": [{"g": 0}, {"l": 1}, {"l": 2}, {"s": 3}, {"s": 4}, 2, 1, 0],
                    "1,0": [{"g": 0}, {"l": 1}, {"l": 2}, {"s": 3}, {"s": 4}, 1, 1, 1],
                },
                ranges=two,
            )
        ],
    )
    found = chip.read(0).reshape(2, 8)
    assert found[:, :5].tolist() == [[11, 12, 2, 3, 0], [1, 2, 12, 13, 0]] or found[:, :4].tolist() == [
        [11, 12, 2, 3],
        [1, 2, 12, 13],
    ]


def test_locals_of_the_device_and_pipes_over_locals(tmp_path: Path) -> None:
    first = "void kernel(global<T> g, local<T> l) { l.read(0, g, 0, 1024); read_barrier(); }"
    second = "void kernel(pipe<T> p) { p.reserve_back(); p.push_back(); }"
    chip = device()
    chip.initial[0] = np.arange(1024) // 8.0
    kept = {"device_locals": [local(1, 1024, "bfloat16", ONE)], "globals": [buffer(0, 1024), buffer(3, 1024)]}
    run(tmp_path, {"a.cpp": first}, chip, kernels=[kernel(0, "a.cpp", [{"g": 0}, {"l": 1}])], **kept)
    run(
        tmp_path,
        {"b.cpp": second, "out.cpp": COPY_OUT},
        chip,
        pipes=[pipe(2, 0, 1, 1, local=1)],
        kernels=[kernel(0, "b.cpp", [{"p": 2}]), kernel(1, "out.cpp", [{"g": 3}, {"p": 2}, 1])],
        **kept,
    )
    assert np.array_equal(chip.read(3), chip.read(0))


def test_two_pipes_over_one_local_show_the_same_bytes(tmp_path: Path) -> None:
    """Pipe 3 writes the tile that pipe 2, of another format, has shown to the math kernel before."""
    math = """
    void kernel(pipe<T> x, pipe<float> y, pipe<T> z) {
        z.reserve_back();
        x.reserve_back(); x.push_back(); x.wait_front();
        y.reserve_back();
        { math<T> acc; acc.copy(x, 0, 0); acc.pack(0, z); acc.add_scalar(0, 0x3f800000); acc.pack(0, y); }
        { math<T> acc; acc.copy(x, 0, 0); acc.pack(0, z); acc.copy(x, 1, 0); acc.pack(0, z); }
        z.push_back();
    }
    """
    chip = device()
    writer = "void kernel(global<T> g, pipe<T> z) { z.wait_front(); z.write(0, g, 0, 3072); write_barrier(); }"
    run(
        tmp_path,
        {"m.cpp": math, "w.cpp": writer},
        chip,
        globals=[buffer(0, 3072)],
        locals=[local(1, 2048, "bfloat16", ONE)],
        pipes=[pipe(2, 2, 2, 2, local=1), pipe(3, 2, 1, 1, "float32", local=1), pipe(4, 1, 3, 3)],
        kernels=[kernel(2, "m.cpp", [{"p": 2}, {"p": 3}, {"p": 4}]), kernel(1, "w.cpp", [{"g": 0}, {"p": 4}])],
    )
    assert chip.read(0)[[0, 1024, 1025, 2048, 2049]].tolist() == [0, 0, 1, 0, 1]  # halves of the float32 bits of 1


def test_a_local_is_reached_from_outside_of_its_grid(tmp_path: Path) -> None:
    source = """
    void kernel(global<int32> g, local<int32> own, local<int32> far, uint32 part) {
        own.set(0, -5);
        if (own.get(0) < 0) { own.set(1, own.get(0) * 2); }
        own.write(0, far, 1, 2, 2, 1);
        write_barrier();
        own.read(0, far, 2, 1, 2, 1);
        read_barrier();
        own.write(0, g, 0, 2);
        write_barrier();
        if (part) { far.set(0, 1); }
    }
    """
    parts = {
        "globals": [buffer(0, 2, "int32")],
        "locals": [local(1, 4, "int32", ONE), local(2, 4, "int32", [[1, 0, 1, 0]])],
    }
    chip, arguments = device(), [{"g": 0}, {"l": 1}, {"l": 2}]
    run(tmp_path, {"k.cpp": source}, chip, kernels=[kernel(1, "k.cpp", [*arguments, 0])], **parts)
    assert chip.read(0).tolist() == [-10, -10]
    with pytest.raises(TantoError, match=r"k\.cpp:11:21: writer kernel on core 0,0: local 2 is not on core 0,0"):
        run(tmp_path, {"k.cpp": source}, device(), kernels=[kernel(1, "k.cpp", [*arguments, 1])], **parts)


def test_pipes_of_one_and_of_two_cores(tmp_path: Path) -> None:
    """Each core fills its pipe `a`, and every way between pipes and locals ends in the buffer."""
    source = """
    void kernel(global<uint32> g, local<uint32> l, pipe<uint32> a, pipe<uint32> b, semaphore s, uint32 x, uint32 y, uint32 me) {
        a.reserve_back();
        for (uint32 i = 0; i < 4; i++) { l.set(i, 10 * me + i); }
        a.read(0, l, 0, 4);
        read_barrier();
        a.push_back();
        a.wait_front();
        s.inc(x, y, 1);
        s.wait(1);
        b.reserve_back();
        b.read(0, a, 0, 2);
        b.read(2, a, 2, 2, x, y);
        l.write(0, b, 4, 1);
        a.write(1, b, 5, 1);
        read_barrier();
        write_barrier();
        b.write_mcast_with_self(0, b, 6, 1, me + 1, 1, me + 1, 1, 1);
        write_barrier();
        b.push_back();
        b.wait_front();
        b.write(0, l, 0, 8);
        write_barrier();
        l.read(8, b, 0, 4);
        l.read(12, a, 0, 1, x, y);
        read_barrier();
        s.inc(x, y, 1);
        s.wait(2);
        l.write(0, g, me * 16, 13);
        write_barrier();
    }
    """
    chip, two = device(), [[0, 0, 1, 0]]
    run(
        tmp_path,
        {"k.cpp": source},
        chip,
        globals=[buffer(0, 32, "uint32")],
        locals=[local(1, 16)],
        pipes=[{**pipe(2, 0, fmt="uint32"), "ranges": two}, {**pipe(3, 0, fmt="uint32"), "ranges": two}],
        semaphores=[{"id": 4, "init": 0, "ranges": two}],
        kernels=[
            kernel(
                1,
                "k.cpp",
                {f"{me},0": [{"g": 0}, {"l": 1}, {"p": 2}, {"p": 3}, {"s": 4}, 2 - me, 1, me] for me in (0, 1)},
                ranges=two,
            )
        ],
    )
    for me, row in enumerate(chip.read(0).reshape(2, 16)):
        own, other = 10 * me, 10 * (1 - me)
        frame = [own, own + 1, other + 2, other + 3, own, own + 1, own, 0]
        assert row[:13].tolist() == [*frame, *frame[:4], other]
