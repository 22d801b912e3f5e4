"""The rules of pipes, semaphores, multicast, races and memory, each on a small program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.tanto.cores.kernel import TantoError
from tests.tanto.support import COPY, COPY_IN, COPY_OUT, ONE, buffer, device, kernel, pipe, run, through

ALL = [[0, 0, 1, 1]]


def local(id: int, size: int, fmt: str = "uint32", ranges: Any = ALL) -> dict[str, Any]:
    return {"id": id, "fmt": fmt, "size": size, "ranges": ranges}


def test_numbers_are_cut_to_bfloat16_or_rounded_to_nearest(tmp_path: Path) -> None:
    x = np.full(1024, 1.00390625 + 2**-9, np.float32)
    assert through(tmp_path, COPY, x)[0] == 1.0
    assert through(tmp_path, COPY, x, chip=device(nearest=True))[0] == 1.0078125


def test_numbers_are_cut_to_float16_or_rounded_to_nearest(tmp_path: Path) -> None:
    cut, nearest = [1.0, -1.0, 65504.0, np.inf, 0.0], [1 + 2**-10, -1 - 2**-10, np.inf, np.inf, 2**-24]
    source = np.resize(np.array([1 + 2**-11 + 2**-20, -1 - 2**-11 - 2**-20, 70000.0, np.inf, 2**-24 - 2**-30]), 1024)
    for expected, rounds in ((cut, False), (nearest, True)):
        chip = device(nearest=rounds)
        chip.initial[0] = source.astype(np.float32)
        run(
            tmp_path,
            {"in.cpp": COPY_IN, "math.cpp": COPY, "out.cpp": COPY_OUT},
            chip,
            globals=[buffer(0, 1024, "float32"), buffer(1, 1024, "float16")],
            pipes=[pipe(2, 0, fmt="float32"), pipe(3, 1, fmt="float16")],
            kernels=[
                kernel(0, "in.cpp", [{"g": 0}, {"p": 2}, 1]),
                kernel(1, "out.cpp", [{"g": 1}, {"p": 3}, 1]),
                kernel(2, "math.cpp", [{"p": 2}, {"p": 3}, 1]),
            ],
        )
        assert chip.read(1)[:5].tolist() == expected


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        ("sign", [np.nan, -np.inf, -2, 0, 1e-40, np.inf], [0, -1, -1, 0, 1, 1]),
        ("gelu", [-8, -6, -5, 5, np.inf], [0, -8.413e-11, -2.292e-07, 5, np.inf]),
    ],
)
def test_functions_at_the_edges_of_their_range(
    tmp_path: Path, function: str, x: list[float], expected: list[float]
) -> None:
    math = "void kernel(pipe<T> x, pipe<T> y, uint32 tiles) { x.wait_front(); y.reserve_back(); { math<T> m; m.copy(x, 0, 0); "
    math += f"m.{function}(0); m.pack(0, y); }} y.push_back(); x.pop_front(); }}"
    values = np.resize(np.array(x, np.float32), 1024)
    found = through(tmp_path, math, values)[: len(x)]
    assert found == pytest.approx(np.array(expected), rel=2**-7, abs=1e-17)


@pytest.mark.parametrize("fmt", ["float16", "float32", "uint16", "int32"])
def test_other_formats_pass_through(tmp_path: Path, fmt: str) -> None:
    x = np.arange(2048).astype(fmt)
    assert np.array_equal(through(tmp_path, COPY, x, fmt=fmt), x)


def test_frames_may_change_and_wrap_around_the_ring(tmp_path: Path) -> None:
    reader = """
    void kernel(global<T> from, pipe<T> into) {
        uint32 at = 0;
        for (uint32 i = 0; i < 6; i++) {
            uint32 tiles = i % 2 + 1;
            into.set_frame(tiles);
            into.reserve_back();
            into.read(0, from, at, tiles * 1024);
            read_barrier();
            into.push_back();
            at += tiles * 1024;
        }
    }
    """
    writer = "void kernel(global<T> to, pipe<T> from) { for (uint32 i = 0; i < 9; i++) { from.set_frame(1); from.wait_front();"
    writer += " from.write(0, to, i * 1024, 1024); write_barrier(); from.pop_front(); } }"
    chip, x = device(), np.arange(9 * 1024) // 64.0
    chip.initial[0] = x
    run(
        tmp_path,
        {"r.cpp": reader, "w.cpp": writer},
        chip,
        globals=[buffer(0, x.size), buffer(1, x.size)],
        pipes=[pipe(2, 0, 5, 1)],
        kernels=[kernel(0, "r.cpp", [{"g": 0}, {"p": 2}]), kernel(1, "w.cpp", [{"g": 1}, {"p": 2}])],
    )
    assert np.array_equal(chip.read(1), chip.read(0))


def test_reads_outside_of_a_buffer_are_zero_and_told_once(tmp_path: Path) -> None:
    source = """
    void kernel(global<uint32> g, global<uint32> h, local<uint32> l) {
        uint32 pad = 2;
        for (uint32 i = 0; i < 3; i++) {
            l.read(i * 4, g, i * 4 - pad, 4);
        }
        read_barrier();
        l.write(0, h, 0, 12);
        write_barrier();
    }
    """
    chip = device()
    chip.initial[0] = np.arange(1, 9, dtype=np.uint32)
    found = run(
        tmp_path,
        {"k.cpp": source},
        chip,
        globals=[buffer(0, 8, "uint32"), buffer(1, 12, "uint32")],
        locals=[local(2, 12)],
        kernels=[kernel(0, "k.cpp", [{"g": 0}, {"g": 1}, {"l": 2}])],
    )
    assert chip.read(1).tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0]
    assert len(found.out_of_range) == 1
    assert (
        "k.cpp:5:13: reader kernel on core 0,0 reads elements -2 to 1 of global 0, which has 8" in found.out_of_range[0]
    )


def _copies(chip: Any, folder: Path, math: str, tiles: int = 2, **more: Any) -> Any:
    x = np.arange(tiles * 1024) // 32.0
    chip.initial[0] = x
    return run(
        folder,
        {"in.cpp": COPY_IN, "math.cpp": math, "out.cpp": COPY_OUT},
        chip,
        globals=[buffer(0, x.size), buffer(1, x.size)],
        pipes=[pipe(2, 0), pipe(3, 1)],
        kernels=[
            kernel(0, "in.cpp", [{"g": 0}, {"p": 2}, tiles]),
            kernel(1, "out.cpp", [{"g": 1}, {"p": 3}, tiles]),
            kernel(2, "math.cpp", [{"p": 2}, {"p": 3}, tiles]),
        ],
        **more,
    )


def test_a_tile_that_is_read_without_waiting_is_a_race(tmp_path: Path) -> None:
    chip = device()
    found = _copies(chip, tmp_path, COPY.replace("x.wait_front();", ""))
    assert np.array_equal(chip.read(1), chip.read(0))  # it gets the tile that comes
    (race,) = found.races
    assert (race.core, race.object, race.tile) == ((0, 0), "pipe 2", 0)
    assert race.write_ns is not None
    assert race.write_ns > race.read_ns >= 0
    assert "math.cpp:7:9" in str(race)
    assert "race on core 0,0: pipe 2, tile 0, is read at" in str(race)


def test_a_frame_that_is_pushed_before_the_barrier_is_a_race(tmp_path: Path) -> None:
    chip = device()
    chip.initial[0] = np.zeros(1024)
    found = run(
        tmp_path,
        {"in.cpp": COPY_IN.replace("read_barrier();", ""), "out.cpp": COPY_OUT},
        chip,
        globals=[buffer(0, 1024), buffer(1, 1024)],
        pipes=[pipe(2, 0)],
        kernels=[kernel(0, "in.cpp", [{"g": 0}, {"p": 2}, 1]), kernel(1, "out.cpp", [{"g": 1}, {"p": 2}, 1])],
    )
    assert [race.object for race in found.races] == ["pipe 2"]


@pytest.mark.parametrize(
    ("math", "message"),
    [
        (COPY.replace("x.pop_front", "x.push_back"), "pipe 2 is an input pipe, which a math kernel does not write"),
        (COPY.replace("y.reserve_back", "y.wait_front"), "pipe 3 is an output pipe, which a math kernel does not read"),
        (COPY.replace("acc.pack(0, y)", "acc.pack(8, y)"), "slot 8; the math object has 8 destination slots"),
        (COPY.replace("x.wait_front();", "x.set_frame(3);"), "a frame of 3 tiles for pipe 2, which has 2"),
        (COPY.replace("math<T> acc;", "math<T> acc; math<T> other;"), "a second math object while one is alive"),
        (
            COPY.replace("acc.copy(x, 0, 0);", "tilize_block(x, 1, y);"),
            "a block is tilized or untilized while a math object is alive",
        ),
        (COPY.replace("acc.copy(x, 0, 0);", "uint32 n = 3 / (tiles - 2);"), "division by zero"),
        (COPY.replace("acc.copy(x, 0, 0);", "uint32 n[2]; n[tiles] = 1;"), "an index outside of an array"),
        (
            COPY.replace("acc.copy(x, 0, 0);", "for (uint32 i = 0; i < 3; i++) { acc.pack(0, y); }"),
            "packs tile 3 of a frame of pipe 3",
        ),
    ],
)
def test_what_a_math_kernel_must_not(tmp_path: Path, math: str, message: str) -> None:
    with pytest.raises(TantoError) as raised:
        _copies(device(), tmp_path, math)
    assert message in str(raised.value)
    assert "math.cpp:" in str(raised.value)
    assert "math kernel on core 0,0" in str(raised.value)


def test_a_deadlock_names_every_kernel_its_core_and_object(tmp_path: Path) -> None:
    found = _copies(device(), tmp_path, COPY.replace("i < tiles", "i < tiles + 1"))
    assert found.status == "deadlock"
    assert found.latency_ns is None
    assert "math.cpp:4:9: math kernel on core 0,0 waits for 1 tiles of pipe 2 (0 are there)" in found.error
    assert "reader" not in found.error


def test_a_multicast_with_too_many_destinations_is_a_deadlock(tmp_path: Path) -> None:
    source = "void kernel(local<uint32> l) { l.write_mcast(0, l, 0, 4, 1, 1, 2, 2, 0xFFFFFFFF); write_barrier(); }"
    found = run(tmp_path, {"k.cpp": source}, device(), locals=[local(1, 4)], kernels=[kernel(1, "k.cpp", [{"l": 1}])])
    assert found.status == "deadlock"
    assert "writer kernel on core 0,0 waits for 4,294,967,292 acknowledgements" in found.error


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("l.write(0, g, 5, 4);", "writes elements 5 to 8 of global 0, which has 8 elements"),
        ("l.write(0, g, 0xfffffffe, 4);", "writes elements -2 to 1 of global 0"),
        ("l.read(1, g, 0, 4);", "writes elements 1 to 4 of local 1, which has 4 elements"),
        ("l.set(4, 0);", "writes elements 4 to 4 of local 1"),
        (
            "l.write(0, l, 0, 1, 9, 9);",
            "no core is at the physical place (9, 9); cores have x in [1, 2] and y in [1, 2]",
        ),
        ("s.inc(2, 2, 1);", "semaphore 2 is not on core 1,1, which is outside of its grid"),
        ("f(0);", "its calls are nested too deeply; does a function call itself without end?"),
        ("l.move(0, l, 1);", "move of local 1 without move_init before"),
    ],
)
def test_what_a_dataflow_kernel_must_not(tmp_path: Path, code: str, message: str) -> None:
    source = f"uint32 f(uint32 n); void kernel(global<uint32> g, local<uint32> l, semaphore s) {{\n    {code}\n}}"
    source += "\nuint32 f(uint32 n) { return f(n + 1); }"
    with pytest.raises(TantoError) as raised:
        run(
            tmp_path,
            {"k.cpp": source},
            device(),
            globals=[buffer(0, 8, "uint32")],
            locals=[local(1, 4)],
            semaphores=[{"id": 2, "init": 0, "ranges": ONE}],
            kernels=[kernel(0, "k.cpp", [{"g": 0}, {"l": 1}, {"s": 2}])],
        )
    assert message in str(raised.value)
    place = "k.cpp:4:22" if code == "f(0);" else "k.cpp:2:5"
    assert f"{place}: reader kernel on core 0,0: " in str(raised.value)


def test_integers_of_32_bits_pass_exactly(tmp_path: Path) -> None:
    x = np.arange(2**31 - 2048, 2**31, dtype=np.int64).astype(np.int32) * np.where(np.arange(2048) % 2, -1, 1)
    math = COPY.replace("acc.copy(x, 0, 0);", "acc.transpose(x, 0, 0); acc.mul_scalar(0, 0x3f800000);")
    assert np.array_equal(through(tmp_path, COPY, x, fmt="int32"), x)
    tiles = x.reshape(2, 2, 2, 16, 16).transpose(0, 1, 3, 2, 4).reshape(2, 32, 32)  # of faces
    found = through(tmp_path, math, x, fmt="int32").reshape(2, 2, 2, 16, 16).transpose(0, 1, 3, 2, 4).reshape(2, 32, 32)
    assert np.array_equal(found, tiles.transpose(0, 2, 1))


def test_the_element_type_follows_from_the_arguments(tmp_path: Path) -> None:
    body = "l.set(0, 1.5f); l.set(1, l.get(0) * 2); l.write(0, g, 0, 2); write_barrier();"
    source = f"void kernel(global<T> g, local<T> l) {{ {body} }}"
    for fmt in ("float32", "bfloat16", "float16"):
        chip = device()
        run(
            tmp_path,
            {"k.cpp": source},
            chip,
            globals=[buffer(0, 2, fmt)],
            locals=[local(1, 2, fmt)],
            kernels=[kernel(0, "k.cpp", [{"g": 0}, {"l": 1}])],
        )
        assert chip.read(0).tolist() == [1.5, 3.0]


BAD_PROGRAMS: list[tuple[dict[str, Any], str]] = [
    ({"pipes": [pipe(2, 0, 2, 3)]}, "pipe 2: a frame of 3 tiles is larger than the pipe, which has 2"),
    ({"pipes": [pipe(2, 0, fmt="half")]}, "unknown format 'half'"),
    ({"pipes": [pipe(2, 0, 300), pipe(4, 0, 500)]}, "core 0,0 needs 1,638,400 bytes of L1, 139,264 more than it has"),
    ({"pipes": [pipe(2, 0, 900)]}, "pipe 2 takes 1,843,200 bytes of L1, 344,064 more than a core has"),
    ({"pipes": [pipe(2, 0), pipe(2, 1)]}, "pipes: id 2 is given twice"),
    ({"globals": [buffer(0, 1024), buffer(0, 1024)]}, "globals: id 0 is given twice"),
    ({"pipes": [{**pipe(2, 0), "ranges": [[0, 0, 2, 0]]}]}, "pipe 2: range [0, 0, 2, 0] is not on the chip"),
    ({"pipes": [pipe(2, 0, local=7)]}, "pipe 2 lies over local 7, which the program does not have"),
    ({"globals": [buffer(0, 1024, page=1000)]}, "global 0: page is 1000, expected a power of two"),
    ({"kernels": [kernel(0, "none.cpp", [])]}, "no kernel file 'none.cpp'"),
    (
        {"kernels": [kernel(0, "k.cpp", [{"g": 0}])]},
        "k.cpp:1:13: reader kernel on core 0,0: got 1 arguments, expected 2: from, n",
    ),
    ({"kernels": [kernel(0, "k.cpp", [{"p": 2}, 1])]}, "argument from: got pipe 2, expected a global<bfloat16>"),
    ({"kernels": [kernel(0, "k.cpp", [{"g": 9}, 1])]}, "argument from: the program has no global 9"),
    ({"kernels": [kernel(0, "k.cpp", [{"g": 0}, "x"])]}, "argument n: got 'x', expected a number of type uint32"),
    ({"kernels": [kernel(0, "k.cpp", [{"g": 0}, 2.5])]}, "argument n: got 2.5, expected a whole number of type uint32"),
    (
        {"kernels": [kernel(0, "k.cpp", [{"g": 0}, 1]), kernel(0, "k.cpp", [{"g": 0}, 1])]},
        "core 0,0 has two kernels of one kind",
    ),
    (
        {"kernels": [kernel(k, "k.cpp", [{"g": 0}, 1]) for k in (0, 1, 2, 2)]},
        "core 0,0 has 4 kernels; it runs three at most",
    ),
    (
        {"kernels": [kernel(0, "k.cpp", {"1,1": [{"g": 0}, 1]})]},
        "has arguments for core '1,1', which is not in its ranges",
    ),
    (
        {"kernels": [kernel(2, "flow.cpp", [])]},
        "flow.cpp:1:17: read_barrier in a math kernel; only a reader or writer kernel can use it",
    ),
    (
        {"kernels": [kernel(0, "math.cpp", [])]},
        "math.cpp:1:17: acc.math in a reader kernel; only a math kernel can use it",
    ),
]


@pytest.mark.parametrize(("program", "message"), BAD_PROGRAMS)
def test_programs_that_cannot_be_loaded(tmp_path: Path, program: dict[str, Any], message: str) -> None:
    sources = {
        "k.cpp": "void kernel(global<T> from, uint32 n) {}",
        "flow.cpp": "void kernel() { read_barrier(); }",
        "math.cpp": "void kernel() { math<T> acc; }",
    }
    whole = {"globals": [buffer(0, 1024)], "kernels": [kernel(0, "k.cpp", [{"g": 0}, 1])]} | program
    with pytest.raises(InputError) as raised:
        run(tmp_path, sources, device(), **whole)
    assert message in str(raised.value)
