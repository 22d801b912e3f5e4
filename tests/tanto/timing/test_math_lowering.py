"""The rows of math kernels, made all at once, equal those of a plain account that goes step by step."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars
import pytest

from kernbench.machine import load_machine
from kernbench.program.ops import Op
from kernbench.tanto.device import Device
from kernbench.tanto.loading import KernelFiles
from kernbench.tanto.program_file import ProgramSpec
from kernbench.tanto.run import run_program
from kernbench.tanto.timing.lowering import Lowering
from kernbench.tanto.timing.math_rows import MathPipeRows, MathRows
from kernbench.tanto.timing.thread_rows import give_rows
from tests.engine.fresh import run_seed
from tests.tanto.support import kernel, pipe

BANKS, HALVES = 2, 2
UNPACKED, MULTIPLIED, MAPPED, PACKED, FULL, FREE = range(6)
PIPE: Any = SimpleNamespace(id=0, counters=(6, 7), frame=3, tiles=6)


class Account:
    """What the three threads do: "delay", ("wait", counter, value), ("add", counter, amount) or ("exec", counter).

    A run of operations of the matrix unit is kept until something else comes, or an operation that is not like them.
    """

    def __init__(self) -> None:
        self.run: list[tuple[int, int, str]] = []  # operations of the processor, line, name
        self.unpack, self.math, self.pack = self.threads = [list[Any](), list[Any](), list[Any]()]
        self.spent = [0, 0, 0]
        self.unpacks = self.vectors = self.packs = self.fulls = self.sections = 0
        self.committed = self.last_vector = False

    def spend(self, thread: int, c: int, cycles: float = 0) -> None:
        if c - self.spent[thread] + cycles:
            self.threads[thread].append("delay")
        self.spent[thread] = c

    def begin(self, c: int) -> None:
        self.spend(1, c)
        self.sections, self.committed = self.sections + 1, False
        if self.sections > HALVES:
            self.math.append(("wait", FREE, self.sections - HALVES))

    def end(self, c: int) -> None:
        self.spend(2, c)
        self.pack += [("wait", PACKED, self.packs)] * (self.packs > 0) + [("add", FREE, 1)]

    def reopen(self) -> None:
        if self.committed:
            self.math.append(("wait", PACKED, self.packs))
        self.committed = False

    def matrix(self, c: int, line: int, name: str) -> None:
        if self.run and self.run[-1][1:] != (line, name):
            self.close()
        self.run.append((c, line, name))

    def close(self) -> None:
        """End the run: the first two and the last are done; the processor of the unit issues all but it before the second."""
        issued = [c for c, _, _ in self.run]
        self.run = []
        for number, c in enumerate(issued[:2] + issued[2:][-1:]):
            self.one(c, issued[-2] if number == 1 and len(issued) > 2 else c)

    def one(self, c: int, issued: int) -> None:
        self.spend(0, c)
        if self.unpacks >= BANKS:
            self.unpack.append(("wait", MULTIPLIED, self.unpacks + 1 - BANKS))
        self.unpack.append(("exec", UNPACKED))
        self.unpacks += 1
        self.spend(1, issued)
        self.reopen()
        if self.last_vector:
            self.math.append(("wait", MAPPED, self.vectors))
        self.last_vector = False
        self.math += [("wait", UNPACKED, self.unpacks), ("exec", MULTIPLIED)]

    def vector(self, c: int) -> None:
        self.spend(1, c)
        self.reopen()
        if not self.last_vector and self.unpacks:
            self.math.append(("wait", MULTIPLIED, self.unpacks))
        self.math.append(("exec", MAPPED))
        self.vectors, self.last_vector = self.vectors + 1, True

    def pack_tile(self, c: int) -> None:
        self.spend(2, c)
        if not self.committed:
            self.spend(1, c)
            self.math += [("wait", MULTIPLIED, self.unpacks)] * (self.unpacks > 0)
            self.math += [("wait", MAPPED, self.vectors)] * (self.vectors > 0)
            self.fulls, self.committed = self.fulls + 1, True
            self.math.append(("add", FULL, 1))
            self.pack.append(("wait", FULL, self.fulls))
        self.pack.append(("exec", PACKED))
        self.packs += 1

    def room(self, c: int, popped: int) -> None:
        self.spend(2, c, 1)
        self.pack += [("wait", 7, popped)] * (popped > 0)

    def push(self, c: int) -> None:
        self.spend(2, c, 1)
        self.pack += [("wait", PACKED, self.packs)] * (self.packs > 0) + [("add", 6, 3)]

    def data(self, c: int, pushed: int) -> None:
        self.spend(0, c, 1)
        self.unpack.append(("wait", 6, pushed))

    def pop(self, c: int) -> None:
        self.spend(0, c, 1)
        self.unpack += [("wait", UNPACKED, self.unpacks)] * (self.unpacks > 0) + [("add", 7, 3)]

    def load(self, c: int) -> None:
        self.spend(0, c, 1)

    def finish(self, c: int) -> None:
        self.close()
        for thread in range(3):
            self.spend(thread, c)


def do(rows: MathRows, pipe: MathPipeRows, account: Account, rng: random.Random, c: int, line: int) -> None:
    """The same step for both."""
    number = rng.randint(0, 9)
    steps = [
        (lambda: rows.begin(), lambda: account.begin(c)),
        (lambda: rows.end(), lambda: account.end(c)),
        (lambda: rows.matrix("matmul", 2), lambda: account.matrix(c, line, "matmul")),
        (lambda: rows.matrix("copy", 4), lambda: account.matrix(c, line, "copy")),
        (lambda: rows.vector("exp"), lambda: account.vector(c)),
        (lambda: rows.pack(2), lambda: account.pack_tile(c)),
        (lambda: pipe.wait_room(number - 2), lambda: account.room(c, number - 2)),
        (lambda: pipe.push(), lambda: account.push(c)),
        (lambda: pipe.wait_tiles(number + 1), lambda: account.data(c, number + 1)),
        (lambda: pipe.pop(), lambda: account.pop(c)),
        (lambda: rows.load(), lambda: account.load(c)),
    ]
    chosen = rng.choice(steps)
    if chosen not in steps[2:4]:
        account.close()
    for act in chosen:
        act()


def plain(row: np.ndarray) -> Any:
    op = row[1]
    if op == Op.DELAY:
        return "delay"
    if op == Op.EXEC:
        return "exec", row[4]
    return ("add", row[2], row[3]) if op == Op.ADD else ("wait", row[2], row[4])


@pytest.mark.parametrize("number", range(8))
def test_the_rows_of_random_steps(number: int) -> None:
    rng = random.Random(run_seed() + number)
    lowering = Lowering(load_machine("tensix_tiny"))
    assert lowering.source_banks == BANKS
    rows, account, c = MathRows(lowering, (0, 0)), Account(), 0
    own: Any = SimpleNamespace(c=0, line=0, unit=SimpleNamespace(file="k.cpp"))
    rows.follow(own)
    assert (lowering.program.counter("pushed"), lowering.program.counter("popped")) == PIPE.counters
    rows.pipes[PIPE.id] = PIPE
    steps = rows.pipe(PIPE)
    for _ in range((1, 10, 200, 200)[number % 4]):
        c += rng.choice([0, 0, 1, 7])
        own.line = rng.randint(1, 2)
        own.c = c
        do(rows, steps, account, rng, c, own.line)
        if rng.random() < 0.1:  # a run
            for _ in range(rng.randint(1, 6)):
                c += rng.choice([0, 3])
                own.c = c
                rows.matrix("matmul", 2 * rng.randint(1, 2))
                account.matrix(c, own.line, "matmul")
    account.finish(c)
    rows.finish()
    give_rows([rows])
    for thread, expected in zip(rows.threads, account.threads, strict=True):
        ((distinct, which),) = thread.encoded
        found = distinct[which]
        assert [plain(row) for row in found] == expected
        assert all(0 <= row <= len(expected) for row in thread.sources.rows)


PRODUCTS = """
void kernel(pipe<T> pa, pipe<T> pb, pipe<T> pc, uint32 frames) {
    for (uint32 frame = 0; frame < frames; frame++) {
        pa.wait_front();
        pb.wait_front();
        pc.reserve_back();
        math<T> acc;
        %s
        acc.pack(0, pc);
        pa.pop_front();
        pb.pop_front();
        pc.push_back();
    }
}
"""


@pytest.mark.parametrize("fidelity", ["lofi", "hifi2", "hifi4"])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 30])
@pytest.mark.parametrize("same", ["0, 0", "0, i", "i, 0", "i, i"])  # operands that stay: both, one, none
def test_a_run_takes_as_long_as_its_operations(tmp_path: Path, fidelity: str, count: int, same: str) -> None:
    """Operations of one line are a run, those of many lines are none; units work as long."""
    calls = [f"acc.matmul(pa, pb, {same.replace('i', str(i))}, 0, false);" for i in range(count)]
    run, each = (measure(tmp_path, PRODUCTS % join.join(calls), count, fidelity) for join in (" ", "\n"))
    assert run[0] == each[0]
    assert run[1] == each[1]
    assert count < 4 or run[2] < each[2]


def measure(folder: Path, math: str, count: int, fidelity: str) -> tuple[float | None, dict[str, int], int]:
    """The time of products of frames of some tiles, how long each unit worked, and the rows of the log."""
    (folder / "in.cpp").write_text(
        "void kernel(pipe<T> pa, pipe<T> pb, uint32 frames) { for (uint32 i = 0; i < frames; i++) {"
        " pa.reserve_back(); pb.reserve_back(); pa.push_back(); pb.push_back(); } }"
    )
    (folder / "out.cpp").write_text(
        "void kernel(pipe<T> pc, uint32 frames) { for (uint32 i = 0; i < frames; i++) { pc.wait_front(); pc.pop_front(); } }"
    )
    (folder / "math.cpp").write_text(math)
    pipes = [pipe(0, 0, 2 * count, count), pipe(1, 0, 2 * count, count), pipe(2, 1)]
    kernels = [
        kernel(0, "in.cpp", [{"p": 0}, {"p": 1}, 5]),
        kernel(1, "out.cpp", [{"p": 2}, 5]),
        kernel(2, "math.cpp", [{"p": 0}, {"p": 1}, {"p": 2}, 5]),
    ]
    chip = Device(load_machine("tensix_tiny", {"tensix_core.fidelity": fidelity}))
    spec = ProgramSpec.model_validate({"pipes": pipes, "kernels": kernels})
    found = run_program(chip, spec, KernelFiles(folder), numbers=False)
    log = found.op_log().filter(polars.col("op_name").is_in(["matmul", "unpack", "pack"]))
    worked = log.group_by("op_name").agg((polars.col("end_fs") - polars.col("start_fs")).sum()).iter_rows()
    return found.cycles, dict(worked), len(log)
