"""Kernels from which one synchronising call is taken away: what is wrong then, or forbidden, is told."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kernbench.errors import KernBenchError
from kernbench.machine import load_machine
from kernbench.runs.bench import find_bench, typed_parameters
from kernbench.tanto.context import TantoContext
from kernbench.tanto.cores.kernel import TantoError
from kernbench.tanto.loading import LIBRARY, KernelFiles
from kernbench.tanto.run import TantoResult, run_program
from tests.tanto.support import buffer, device, kernel, pipe, run

ALL = [[0, 0, 1, 1]]
FOLDERS = (find_bench("tanto-matmul").file.parent / "kernels", LIBRARY)  # a bench's own kernels, and those of all
KERNELS = {path.stem: path for folder in FOLDERS for path in folder.glob("*.cpp")}
PROGRAMS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "tanto-matmul": (
        {"M": 256, "K": 96, "N": 512, "block_m": 4, "block_n": 4, "block_k": 1},
        ("matmul", "matmul_a", "matmul_b"),
    ),
    "tanto-attention": ({"queries": 256, "keys": 64, "head": 32}, ("attention", "attention_read", "write_frames")),
    "tanto-conv": (
        {"height": 16, "width": 32, "channels": 64, "filters": 64, "band": True},
        ("conv", "conv_read", "conv_write"),
    ),
    "tanto-tilize": ({"cores": 2, "blocks": 3, "block": 3}, ("relayout", "read_frames", "write_frames")),
}
CALL = re.compile(
    r"^ *((?:\w+\.)?(?:reserve_back|push_back|wait_front|pop_front|\w+_barrier|wait|inc|(?<!zeros.)set|set_mcast)\(.*\));"
)
DELETIONS = [
    (name, file, number, line.strip())
    for name, (_, files) in PROGRAMS.items()
    for file in files
    for number, line in enumerate(KERNELS[file].read_text().split("\n"))
    if CALL.match(line)
]


def outcome(folder: Path, name: str, file: str, number: int, numbers: bool) -> tuple[bool, str]:
    """Whether all numbers are right, and all that the run tells."""
    folder.mkdir()
    for own in KERNELS.values():
        shutil.copy2(own, folder)
    path = folder / f"{file}.cpp"
    lines = path.read_text().split("\n")
    lines[number] = ""
    path.write_text("\n".join(lines))
    bench, context = find_bench(name), TantoContext(load_machine("tensix_tiny"), folder)
    bench.call(context, typed_parameters(bench, PROGRAMS[name][0]))
    program = context.submitted[0]
    if numbers:
        context.fill()
    try:
        found = run_program(
            context.device, program.spec(), KernelFiles(folder, functions=program.functions), numbers=numbers
        )
    except KernBenchError as error:
        return False, str(error)
    told = [found.error, *map(str, found.races), *found.warnings, *found.out_of_range]
    return not found.error and not context.mismatches(), "\n".join(told).strip()


# What may be missing, by file and call, and by line where this is one of several, with the reason.
HARMLESS: dict[tuple[Any, ...], str] = {
    **{
        ("matmul", call, line): "blocks of one part alone take this way"
        for line, call in (
            (80, "pa.wait_front();"),
            (81, "pb.wait_front();"),
            (83, "pa.pop_front();"),
            (84, "pb.pop_front();"),
            (86, "pc.reserve_back();"),
            (88, "pc.push_back();"),
        )
    },
    **{
        ("matmul", call): "convolutions alone take this way"
        for call in ("pa.reserve_back();", "rows.wait_front();", "rows.pop_front();", "pa.push_back();")
    },
    ("matmul_a", "write_barrier();", 72): "a frame is written again long after it was sent",
    ("matmul_b", "write_barrier();", 44): "a frame is written again long after it was sent",
    ("matmul_b", "write_barrier();", 59): "a program ends when its transfers have",
    ("attention", "pq.wait_front();", 85): "tanto-softmax alone takes this way",
    ("attention", "pq.pop_front();", 87): "tanto-softmax alone takes this way",
    ("attention", "pk.pop_front();"): "the last frame, and a pipe ends with its program",
    ("attention", "pv.pop_front();"): "the last frame, and a pipe ends with its program",
    ("conv", "pw.pop_front();"): "the last frame, and a pipe ends with its program",
    ("conv_write", "ready.wait(dests);"): "the one frame is sent to pipes that were always empty",
}


@pytest.mark.parametrize(("name", "file", "number", "call"), DELETIONS)
def test_a_call_that_is_missing_is_told(tmp_path: Path, name: str, file: str, number: int, call: str) -> None:
    right, told = outcome(tmp_path / "kernels", name, file, number, numbers=True)
    shutil.rmtree(tmp_path / "kernels")
    assert outcome(tmp_path / "kernels", name, file, number, numbers=False)[1] == told
    if (file, call) in HARMLESS or (file, call, number + 1) in HARMLESS:
        assert (right, told) == (True, "")
    else:
        missing = call.split("(")[0].rpartition(".")[2]
        assert "race" in told or "deadlock" in told or f"without {missing} before" in told


def test_kernels_as_they_are_lack_nothing(tmp_path: Path) -> None:
    assert len(DELETIONS) > 100
    for number, name in enumerate(PROGRAMS):
        assert outcome(tmp_path / str(number), name, "matmul", 0, numbers=True) == (True, "")


READER = """
void kernel(global<T> from, pipe<T> into, uint32 tiles) {
    for (uint32 i = 0; i < tiles; i++) {
        %s
    }
}
"""
WRITER = READER.replace("from", "to").replace("into", "from")


@pytest.mark.parametrize(
    ("reader", "writer", "told"),
    [
        (
            "into.reserve_back(); into.push_back(); into.push_back();",
            "",
            "push_back of pipe 2 without reserve_back before",
        ),
        (
            "into.reserve_back(); into.push_back();",
            "from.wait_front(); from.pop_front(); from.pop_front();",
            "pop_front of pipe 2 without wait_front before",
        ),
        ("", "from.pop_front();", "pop_front of pipe 2 without wait_front before"),
        (
            "into.set_frame(0); into.reserve_back();",
            "",
            "reserve_back of pipe 2 with a frame of 0 tiles; give set_frame 1 at least",
        ),
        (
            "into.reserve_back(); into.read(0, from, 0, 1025);",
            "",
            "read into pipe 2 beyond the frame, of 1 tiles, that reserve_back gave; set_frame sets its size",
        ),
        ("into.read(0, from, 0, 32);", "", "read into pipe 2 without reserve_back before"),
        (
            "into.reserve_back(); read_barrier(); into.push_back();",
            "from.wait_front(); from.write(0, to, 0, 1025); write_barrier(); from.pop_front();",
            "write from pipe 2 beyond the frame, of 1 tiles, that wait_front gave; set_frame sets its size",
        ),
    ],
)
def test_calls_out_of_order_are_told(tmp_path: Path, reader: str, writer: str, told: str) -> None:
    for numbers in (True, False):
        found = run(
            tmp_path,
            {"in.cpp": READER % reader, "out.cpp": WRITER % writer},
            device(),
            numbers,
            globals=[buffer(0, 4096)],
            pipes=[pipe(2, 0)],
            kernels=[kernel(0, "in.cpp", [{"g": 0}, {"p": 2}, 1]), kernel(1, "out.cpp", [{"g": 0}, {"p": 2}, 1])],
        )
        assert found.status == "ok"
        assert f"kernel on core 0,0: {told}" in found.warnings[0]


def test_a_math_kernel_packs_into_its_frame_before_it_pushes(tmp_path: Path) -> None:
    math = """
    void kernel(pipe<T> y) {
        y.reserve_back();
        %s
        math<T> acc;
        acc.pack(0, y);
        acc.pack(0, y);
    }
    """
    warnings = list[list[str]]()
    for first in ("", "y.push_back();"):
        for numbers in (True, False):
            program: dict[str, Any] = {"pipes": [pipe(2, 1)], "kernels": [kernel(2, "m.cpp", [{"p": 2}])]}
            warnings.append(run(tmp_path, {"m.cpp": math % first}, device(), numbers, **program).warnings)
    assert warnings[::2] == warnings[1::2]
    assert "m.cpp:7:9: math kernel on core 0,0: pack into pipe 2 beyond the frame, of 1 tiles," in warnings[0][0]
    assert "push_back of pipe 2 before pack; the frame has what was there before" in warnings[2][0]
    assert "pack into pipe 2 without reserve_back before" in warnings[2][1]


def test_a_local_is_sent_before_the_barrier_of_its_reads(tmp_path: Path) -> None:
    source = """
    void kernel(global<uint32> g, local<uint32> l) {
        l.read(0, g, 0, 64);
        l.write%s;
        write_barrier();
        read_barrier();
    }
    """
    for call in ("(0, l, 0, 64, 2, 1)", "_mcast(0, l, 0, 64, 1, 1, 2, 2, 3)", "(0, g, 0, 64)"):
        for numbers in (True, False):
            found = run(
                tmp_path,
                {"k.cpp": source % call},
                device(),
                numbers,
                globals=[buffer(0, 64, "uint32")],
                locals=[{"id": 1, "fmt": "uint32", "size": 64, "ranges": ALL}],
                kernels=[kernel(0, "k.cpp", [{"g": 0}, {"l": 1}])],
            )
            assert [(race.object, race.place.rpartition("/")[2]) for race in found.races] == [("local 1", "k.cpp:4:9")]


def flows(folder: Path, body: str, numbers: bool, **more: Any) -> TantoResult:
    """A reader on one core with a global, two locals on all cores and a semaphore."""
    locals = [{"id": id, "fmt": "uint32", "size": 64, "ranges": ALL} for id in (1, 2)]
    program: dict[str, Any] = {
        "globals": [buffer(0, 64, "uint32")],
        "locals": locals,
        "semaphores": [{"id": 3, "init": 0, "ranges": ALL}],
        "kernels": [kernel(0, "k.cpp", [{"g": 0}, {"l": 1}, {"l": 2}, {"s": 3}])],
    }
    source = f"void kernel(global<uint32> g, local<uint32> l, local<uint32> m, semaphore s) {{\n    {body}\n}}"
    return run(folder, {"k.cpp": source}, device(), numbers, **program | more)


@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize(
    "between",
    ["l.read(0, g, 0, 1);", "m.move_init(2);", "l.write(0, g, 0, 1);", "s.inc(1, 1, 1);", "l.read(0, m, 0, 1);"],
)
def test_a_transfer_ends_the_context_of_moves(tmp_path: Path, between: str, numbers: bool) -> None:
    body = "l.move_init(4); l.move(8, m, 8); l.move(12, m, 12); {} l.move(16, m, 16); read_barrier(); write_barrier();"
    assert not flows(tmp_path, body.format("read_barrier();"), numbers).warnings
    (told,) = flows(tmp_path, body.format(between), numbers).warnings
    assert "move to local 1 after a transfer or move_init that ended its context; call move_init again" in told


@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize(
    ("call", "enough"),
    [
        ("l.write_mcast(0, l, 0, 4, 1, 1, 2, 2, {})", 3),
        ("l.write_mcast_with_self(0, l, 0, 4, 1, 1, 2, 2, {})", 3),
        ("s.set_mcast(s, 1, 1, 2, 2, {})", 3),
    ],
)
def test_a_multicast_that_names_too_few_destinations_is_told(
    tmp_path: Path, call: str, enough: int, numbers: bool
) -> None:
    assert not flows(tmp_path, f"{call.format(enough)}; write_barrier();", numbers).warnings
    (told,) = flows(tmp_path, f"{call.format(enough - 1)}; write_barrier();", numbers).warnings
    assert "cores with num_dests 2; write_barrier does not wait for the others" in told


def test_a_local_of_a_device_without_ranges_is_on_all_cores(tmp_path: Path) -> None:
    kept = [{"id": 1, "fmt": "uint32", "size": 64}]
    locals = [{"id": 2, "fmt": "uint32", "size": 64, "ranges": ALL}]
    body = "m.set(0, 7); m.write(0, l, 0, 1, 2, 2); write_barrier(); m.read(1, l, 0, 1, 2, 2); read_barrier(); "
    body += "m.write(1, g, 0, 1); write_barrier();"
    assert flows(tmp_path, body, True, locals=locals, device_locals=kept).status == "ok"


def test_messages_name_objects_at_their_end(tmp_path: Path) -> None:
    """By the name that the program gives, or else the parameter of the first kernel that has the object."""
    (told,) = flows(tmp_path, "l.move_init(4); m.move_init(4); l.move(0, m, 0);", True).warnings
    assert told.endswith("; call move_init again; local 1 is l")
    locals = [{"id": id, "name": f"row{id}", "fmt": "uint32", "size": 64, "ranges": ALL} for id in (1, 2)]
    (race,) = flows(tmp_path, "l.read(0, g, 0, 64); l.write(0, g, 0, 64); write_barrier();", True, locals=locals).races
    assert str(race).endswith("; local 1 is row1")
    found = flows(tmp_path, "s.wait(1);", True)
    assert found.error.endswith("waits for semaphore 3 to be 1 (is 0); semaphore 3 is s")
    with pytest.raises(TantoError, match=r"writes elements 64 to 64 of local 2, which has 64 elements; local 2 is m$"):
        flows(tmp_path, "m.set(64, 0);", True)


@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("write", ["l.write(0, l, 0, 64, {x}, 1);", "l.write_mcast(0, l, 0, 64, {x}, 1, {x}, 1, 1);"])
@pytest.mark.parametrize("receiver", [0, 1])
def test_a_signal_before_the_data_is_a_race(
    tmp_path: Path, write: str, early: bool, waits: bool, numbers: bool, receiver: int
) -> None:
    """And so is a receiver that waits for no signal."""
    data, signal = write.format(x=receiver + 1), f"s.inc({receiver + 1}, 1, 1);"
    pause = "for (uint32 i = 0; i < 64; i++) { l.set(i, i); }"
    source = f"""
    void kernel(global<uint32> g, local<uint32> l, semaphore s, uint32 sends) {{
        if (sends) {{
            {signal + pause + data if early else pause + data + signal}
        }} else {{
            {"s.wait(1);" if waits else ""}
            l.write(0, g, 0, 64);
        }}
        write_barrier();
    }}
    """
    two = [[0, 0, 1, 0]]
    found = run(
        tmp_path,
        {"k.cpp": source},
        device(),
        numbers,
        globals=[buffer(0, 64, "uint32")],
        locals=[{"id": 1, "fmt": "uint32", "size": 64, "ranges": two}],
        semaphores=[{"id": 2, "init": 0, "ranges": two}],
        kernels=[
            kernel(
                1, "k.cpp", {f"{x},0": [{"g": 0}, {"l": 1}, {"s": 2}, int(x != receiver)] for x in (0, 1)}, ranges=two
            )
        ],
    )
    assert found.status == "ok"
    is_seen = waits or receiver == 1  # in turn the receiver comes after the sender
    told = [(race.core, race.object, race.place.rpartition("/")[2]) for race in found.races]
    assert told == ([((receiver, 0), "local 1", "k.cpp:7:13")] if is_seen and (early or not waits) else [])
