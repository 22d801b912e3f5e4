"""Rows that are made of scripts are those of kernels that run in turn, and so are errors, races and deadlocks."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernbench.errors import KernBenchError
from kernbench.machine import load_machine
from kernbench.program.ops import OPERANDS, Op
from kernbench.program.program import Program
from kernbench.runs.bench import find_bench, typed_parameters
from kernbench.tanto.context import TantoContext
from kernbench.tanto.device import Device
from kernbench.tanto.loading import LIBRARY, KernelFiles, ProgramLoader
from kernbench.tanto.program_file import ProgramSpec
from kernbench.tanto.run import TantoResult, run_program
from kernbench.tanto.scripts.recording import write_rows
from tests.engine.fresh import draw_seeds, run_seed
from tests.tanto.support import COPY_IN, COPY_OUT, buffer, kernel, pipe
from tests.tanto.test_benches import BENCHES

Made = tuple[Device, ProgramSpec, KernelFiles]
ALL = [[0, 0, 1, 1]]
LARGE: list[tuple[str, dict[str, Any]]] = [
    ("tanto-matmul", {"M": 192, "K": 128, "N": 384, "grid_x": 6, "grid_y": 3}),
    ("tanto-matmul", {"M": 200, "K": 288, "N": 600, "grid_x": 4, "grid_y": 2, "block_k": 2}),
    (
        "tanto-matmul",
        {"M": 128, "K": 320, "N": 600, "grid_x": 4, "grid_y": 2, "block_k": 1, "layout": "l1", "dtype": "bfloat8_b"},
    ),
    ("tanto-conv", {"height": 12, "width": 24, "channels": 64, "cores_x": 3, "cores_y": 3}),
    ("tanto-softmax", {"M": 256, "N": 96, "cores": 8}),
    ("tanto-swish", {"cores": 2, "tiles": 4, "frame": 2}),
]
ON_ALL_CORES = {"M": 128, "K": 96, "N": 128, "grid_x": 2, "grid_y": 2}  # each row and column multicasts
IN_TURN = ("tanto-pool", "tanto-swish")  # one reads data, one is in Python


def rows_of(program: Program) -> list[tuple[str, list[Any]]]:
    """The rows of each thread with their lines, and what ids stand for in their place."""
    program.flush()
    op, tags, durations, routing = program.op[:], program.op_tag[:], program.durations, program.machine.routing
    names = {"route": routing.key, "duration": lambda id: durations[id]}
    same: Callable[[int], Any] = lambda value: value  # noqa: E731
    found = list[tuple[str, list[Any]]]()
    for thread in program.threads:
        rows = [thread.find_row(row) for row in range(thread.row_count)]
        decoded = [
            (
                program.tags[tags[row]],
                code := Op(int(op[row, 0])),
                *(names.get(kind, same)(int(value)) for kind, value in zip(OPERANDS[code], op[row, 1:])),  # noqa: B905
                program.sources[thread.source_of(index)],
            )
            for index, row in enumerate(rows)
        ]
        found.append((thread.name, decoded))
    return found


def bench_program(name: str, parameters: dict[str, Any], chip: str, kernels: Path | None = None) -> Made:
    """The program of a bench, with kernels of its own folder or another."""
    bench = find_bench(name)
    context = TantoContext(load_machine(chip), bench.file.parent / "kernels")
    bench.call(context, typed_parameters(bench, parameters))
    program = context.submitted[0]
    return context.device, program.spec(), KernelFiles(kernels or context.kernels, functions=program.functions)


def outcome(made: Made, *, scripts: bool) -> tuple[TantoResult | str, dict[str, Any] | str]:
    """The result of a run without numbers, and as plain values; or the sentence of its error."""
    device, spec, files = made
    try:
        found = run_program(device, spec, files, numbers=False, scripts=scripts)
    except KernBenchError as error:
        return str(error), str(error)
    return found, found.to_dict()


def has_scripts(made: Made) -> bool:
    """Whether rows can be made of scripts."""
    device, spec, files = made
    run = ProgramLoader(device, spec, files, numbers=False).load()
    return write_rows(run)


def check_same(make: Callable[[], Made]) -> None:
    """Check that scripts change nothing."""
    (quick, told), (plain, expected) = (outcome(make(), scripts=scripts) for scripts in (True, False))
    assert told == expected
    if isinstance(quick, TantoResult) and isinstance(plain, TantoResult) and quick.session is not None:
        assert quick.device_program is not None
        assert plain.device_program is not None
        assert rows_of(quick.device_program) == rows_of(plain.device_program)
        assert quick.op_log().equals(plain.op_log())


@pytest.mark.parametrize(("name", "parameters"), [*BENCHES, *LARGE])
@pytest.mark.parametrize("chip", ["wormhole_n150", "blackhole_p150"])
def test_benches_have_scripts_and_the_same_rows(name: str, parameters: dict[str, Any], chip: str) -> None:
    assert has_scripts(bench_program(name, parameters, chip)) == (name not in IN_TURN)
    check_same(lambda: bench_program(name, parameters, chip))


def draw_bench(draw: random.Random) -> tuple[str, dict[str, Any]]:
    """A bench with random parameters."""
    columns, rows, k = (draw.randint(1, 3) for _ in range(3))
    choices: list[tuple[str, dict[str, Any]]] = [
        (
            "tanto-matmul",
            {
                "M": 32 * rows * draw.randint(1, 3),
                "K": 32 * k,
                "N": 32 * columns * draw.randint(1, 5),
                "grid_x": columns,
                "grid_y": rows,
                "block_n": draw.randint(0, 1),
                "block_k": draw.randint(0, 1),
                "layout": draw.choice(["dram", "l1"]),
            },
        ),
        (
            "tanto-conv",
            {
                "height": 4 * rows,
                "width": 32 * columns,
                "channels": 32 * draw.randint(1, 2),
                "cores_x": columns,
                "cores_y": rows,
                "band": draw.random() < 0.5,
            },
        ),
        ("tanto-attention", {"queries": 32 * columns * rows, "keys": 32 * k, "head": 32, "cores": columns}),
        ("tanto-reduce", {"cores": columns, "count": columns * rows, "length": k}),
        ("tanto-tilize", {"cores": columns, "blocks": columns * rows, "block": k, "untilizes": draw.random() < 0.5}),
        ("tanto-pool", {"height": 8 * rows, "width": 16 * columns, "cores": rows}),
    ]
    return draw.choice(choices)


def mutate(folder: Path, draw: random.Random) -> None:
    """Drop, repeat or swap calls of the kernels, which then race, deadlock or err, or take their time otherwise."""
    file = draw.choice(sorted(folder.glob("*.cpp")))
    lines = file.read_text().split("\n")
    calls = [at for at, line in enumerate(lines) if re.match(r"\s+(\w+\.)?\w+\(.*\);$", line)]
    for _ in range(draw.randint(1, 2)):
        at, other = draw.choice(calls), draw.choice(calls)
        how = draw.randrange(4)
        if how == 0:
            lines[at] = ""
        elif how == 1:
            lines[at] = lines[at] + lines[at]
        elif how == 2:
            lines[at] = lines[at] + lines[other]
        else:
            lines[at] = re.sub(
                r"\b\d+\b", lambda found: str(int(found[0]) + draw.choice([1, 1024, 4096])), lines[at], count=1
            )
    file.write_text("\n".join(lines))


@pytest.mark.parametrize("number", range(12))
def test_random_benches(number: int) -> None:
    draw = random.Random(run_seed() * 1000 + number)
    name, parameters = draw_bench(draw)
    check_same(lambda: bench_program(name, parameters, "wormhole_n150"))


def test_random_mutants(tmp_path: Path) -> None:
    """Kernels with mistakes in them."""
    source = find_bench("tanto-matmul").file.parent / "kernels"
    used = {
        "matmul": "matmul*.cpp",
        "conv": "conv*.cpp",
        "attention": "*t*.cpp",
        "reduce": "re*.cpp",
        "tilize": "re*.cpp",
    }
    for number, seed in enumerate(draw_seeds(0.4)):
        draw = random.Random(seed)
        name, parameters = draw_bench(draw)
        folder = tmp_path / str(number)
        folder.mkdir()
        for file in (
            one for at in (LIBRARY, source) for one in at.glob(used.get(name.removeprefix("tanto-"), "*.cpp"))
        ):
            shutil.copy(file, folder)
        for file in source.glob("write_frames.cpp"):
            shutil.copy(file, folder)
        mutate(folder, draw)
        check_same(lambda: bench_program(name, parameters, "wormhole_n150", folder))  # noqa: B023


TALK = """
void kernel(pipe<T> p, pipe<T> q, semaphore s, semaphore t, local<uint32> l, global<uint32> g, uint32 x, uint32 y) {
    %s
}
"""
SAYINGS = [
    "s.set({n});",
    "t.inc(x, y, {n});",
    "s.inc({x}, {y}, {n});",
    "s.set_remote(t, {x}, {y});",
    "t.set_mcast(s, 1, 1, 2, 2, {n});",
    "s.wait({n});",
    "t.wait({n});",
    "p.reserve_back(); p.push_back();",
    "q.wait_front(); q.pop_front();",
    "l.set({n}, {n});",
    "l.read({n}, g, {n} * 300, 40); read_barrier();",
    "l.write({n}, l, {n}, 9, {x}, {y}); write_barrier();",
    "l.write_mcast({n}, l, {n}, 8, 1, 1, {x}, {y}, 1);",
    "p.read(0, l, 0, 30, {x}, {y});",
    "l.move_init(7); l.move(1, l, {n});",
]


def draw_talk(draw: random.Random, folder: Path) -> ProgramSpec:
    """Readers and writers on four cores that tell each other something, some of them the same."""
    kernels = list[dict[str, Any]]()
    for kind, (p, q) in ((0, (2, 3)), (1, (3, 2))):
        texts = list[str]()
        for number in range(draw.randint(1, 2)):
            said = [draw.choice(SAYINGS) for _ in range(draw.randint(1, 5))]
            places = [{"n": draw.randint(0, 3), "x": draw.randint(1, 2), "y": draw.randint(1, 2)} for _ in said]
            texts.append(f"{kind}{number}.cpp")
            body = "\n    ".join(one.format(**place) for one, place in zip(said, places, strict=True))
            (folder / texts[-1]).write_text(TALK % body)
        for number, text in enumerate(texts):
            cores = [(x, y) for x in range(2) for y in range(2) if (x + y) % len(texts) == number]
            near = draw.randint(1, 2)
            args = {f"{x},{y}": [{"p": p}, {"p": q}, {"s": 4}, {"s": 5}, {"l": 6}, {"g": 0}, near, 1] for x, y in cores}
            ranges = [[x, y, x, y] for x, y in cores]
            kernels.append(kernel(kind, text, args, ranges=ranges))
    return ProgramSpec.model_validate(
        {
            "globals": [buffer(0, 1024, "uint32", 256)],
            "pipes": [pipe(id, draw.randint(0, 1), draw.randint(1, 3), ranges=ALL) for id in (2, 3)],
            "semaphores": [{"id": id, "init": draw.randint(0, 1), "ranges": ALL} for id in (4, 5)],
            "locals": [{"id": 6, "fmt": "uint32", "size": 64, "ranges": draw.choice([ALL, [[0, 0, 1, 0]]])}],
            "kernels": kernels,
        }
    )


def test_random_talks(tmp_path: Path) -> None:
    """Most of them end in a deadlock or an error, one in seven does not."""
    for number, seed in enumerate(draw_seeds(0.4)):
        draw = random.Random(seed)
        folder = tmp_path / str(number)
        folder.mkdir()
        spec = draw_talk(draw, folder)
        check_same(lambda: (Device(load_machine("tensix_tiny")), spec, KernelFiles(folder)))  # noqa: B023


def copies(folder: Path, reader: str, **more: Any) -> Made:
    """A program that copies two tiles through a pipe, by a reader of a text."""
    (folder / "in.cpp").write_text(reader)
    (folder / "out.cpp").write_text(COPY_OUT)
    spec = ProgramSpec.model_validate(
        {
            "globals": [buffer(0, 2048), buffer(1, 2048)],
            "pipes": [pipe(2, 0)],
            "kernels": [kernel(0, "in.cpp", [{"g": 0}, {"p": 2}, 2]), kernel(1, "out.cpp", [{"g": 1}, {"p": 2}, 2])],
            **more,
        }
    )
    return Device(load_machine("tensix_tiny")), spec, KernelFiles(folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("read_barrier();", ""),  # a race
        ("into.push_back();", ""),  # a deadlock
        ("into.read(0,", "into.read(2048,"),  # an error
        ("tiles; i++", "tiles; i += 0"),  # for ever, if nothing held it back
    ],
)
def test_what_a_run_in_turn_tells_has_no_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    monkeypatch.setattr("kernbench.tanto.scripts.script.MOST_ENTRIES", 1000)
    assert has_scripts(copies(tmp_path, COPY_IN))
    reader = COPY_IN.replace(old, new)
    assert reader != COPY_IN
    assert not has_scripts(copies(tmp_path, reader))
    check_same(lambda: copies(tmp_path, reader))


@pytest.mark.parametrize(
    ("name", "file", "old", "new"),
    [
        ("tanto-matmul", "matmul.cpp", "pa.wait_front();", ""),  # a race
        ("tanto-matmul", "matmul.cpp", "b + j, slot", "b + j, slot + 8"),  # no such slot
        ("tanto-matmul", "matmul.cpp", "acc.pack(slot, into);", "acc.pack(slot + 9, into);"),  # no such slot
        (
            "tanto-matmul",
            "matmul_a.cpp",
            "x1, y1, x0, y0, dests);",
            "x1, y1, x0, y0, dests + 1);",
        ),  # nobody acknowledges
        ("tanto-matmul", "matmul_b.cpp", "ready.inc(x0, y0, 1);", "ready.inc(0, y0, 1);"),  # no such core
        ("tanto-tilize", "relayout.cpp", "x.wait_front();", ""),  # it waits for tiles all the same
    ],
)
def test_what_a_run_in_turn_tells_of_benches(tmp_path: Path, name: str, file: str, old: str, new: str) -> None:
    kernels = find_bench(name).file.parent / "kernels"
    shutil.copytree(kernels, tmp_path / "kernels")
    own = kernels / file
    text = (own if own.is_file() else LIBRARY / file).read_text()
    assert old in text
    (tmp_path / "kernels" / file).write_text(text.replace(old, new))
    parameters = ON_ALL_CORES if name == "tanto-matmul" else dict(BENCHES)[name]
    made = lambda: bench_program(name, parameters, "tensix_tiny", tmp_path / "kernels")  # noqa: E731
    assert not has_scripts(made())
    check_same(made)


@pytest.mark.parametrize(
    "call", ["l.write(0, l, 0, 4, 2, 1)", "l.write_mcast(0, l, 0, 4, 2, 1, 2, 1, 1)", "l.set(0, 1)"]
)
def test_a_kernel_outside_of_the_grid_of_a_local(tmp_path: Path, call: str) -> None:
    (tmp_path / "k.cpp").write_text(f"void kernel(local<uint32> l) {{ {call}; write_barrier(); }}")
    spec = ProgramSpec.model_validate(
        {
            "locals": [{"id": 0, "fmt": "uint32", "size": 8, "ranges": [[1, 0, 1, 0]]}],
            "kernels": [kernel(0, "k.cpp", [{"l": 0}])],
        }
    )
    made = lambda: (Device(load_machine("tensix_tiny")), spec, KernelFiles(tmp_path))  # noqa: E731
    assert not has_scripts(made())
    check_same(made)


def test_frames_that_are_never_used_leave_no_rows(tmp_path: Path) -> None:
    reader = COPY_IN.replace("for (", "into.set_frame(0); into.set_frame(1); for (")
    assert has_scripts(copies(tmp_path, reader))
    check_same(lambda: copies(tmp_path, reader))


@pytest.mark.parametrize(("first", "races"), [(1024, False), (1023, True), (0, True)])
def test_reads_ahead_of_a_frame_that_is_pushed(tmp_path: Path, first: int, races: bool) -> None:
    """The second tile is on its way while the first is pushed."""
    reader = f"""
    void kernel(global<T> from, pipe<T> into, uint32 tiles) {{
        into.set_frame(2);
        into.reserve_back();
        into.set_frame(1);
        into.read(0, from, 0, 1024);
        read_barrier();
        into.read({first}, from, 1024, 1024);
        into.push_back();
        into.reserve_back();
        read_barrier();
        into.push_back();
    }}
    """
    assert has_scripts(copies(tmp_path, reader)) != races
    check_same(lambda: copies(tmp_path, reader))


def test_elements_of_a_local_that_outlives_the_program_are_set_in_turn(tmp_path: Path) -> None:
    """The next program may read them. What is read and written there has no numbers in either way to run."""
    (tmp_path / "set.cpp").write_text("void kernel(local<uint32> kept) { kept.set(1, 5); }")
    local = [{"id": 7, "fmt": "uint32", "size": 8, "ranges": [[0, 0, 0, 0]]}]
    for lives, scripted in (("locals", True), ("device_locals", False)):
        chip = Device(load_machine("tensix_tiny"))
        spec = ProgramSpec.model_validate({lives: local, "kernels": [kernel(0, "set.cpp", [{"l": 7}])]})
        made = chip, spec, KernelFiles(tmp_path)
        assert has_scripts(made) == scripted
        run_program(*made, numbers=False)
    assert chip.read(7, "l").tolist() == [0, 5, 0, 0, 0, 0, 0, 0]
