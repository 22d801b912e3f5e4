"""The rows of math kernels, made all at once, equal those of a plain account that goes step by step."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kernbench.machine import load_machine
from kernbench.program.ops import Op
from kernbench.tanto.timing.lowering import Lowering
from kernbench.tanto.timing.math_rows import MathRows
from tests.engine.fresh import run_seed

BANKS, HALVES = 2, 2
UNPACKED, MULTIPLIED, MAPPED, PACKED, FULL, FREE = range(6)
PIPE: Any = SimpleNamespace(counters=(6, 7))


class Account:
    """What the three threads do: "delay", ("wait", counter, value), ("add", counter, amount) or ("exec", counter)."""

    def __init__(self) -> None:
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

    def matrix(self, c: int) -> None:
        self.spend(0, c)
        if self.unpacks >= BANKS:
            self.unpack.append(("wait", MULTIPLIED, self.unpacks + 1 - BANKS))
        self.unpack.append(("exec", UNPACKED))
        self.unpacks += 1
        self.spend(1, c)
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
        for thread in range(3):
            self.spend(thread, c)


def do(rows: MathRows, account: Account, rng: random.Random, c: int) -> None:
    """The same step for both."""
    number = rng.randint(0, 9)
    steps = [
        (lambda: rows.begin(c), lambda: account.begin(c)),
        (lambda: rows.end(c), lambda: account.end(c)),
        (lambda: rows.matrix(c, "matmul", 2), lambda: account.matrix(c)),
        (lambda: rows.matrix(c, "copy", 4), lambda: account.matrix(c)),
        (lambda: rows.vector(c, "exp"), lambda: account.vector(c)),
        (lambda: rows.pack(c, 2), lambda: account.pack_tile(c)),
        (lambda: rows.wait_room(c, PIPE, number - 2), lambda: account.room(c, number - 2)),
        (lambda: rows.push(c, PIPE, 3), lambda: account.push(c)),
        (lambda: rows.wait_tiles(c, PIPE, number + 1), lambda: account.data(c, number + 1)),
        (lambda: rows.pop(c, PIPE, 3), lambda: account.pop(c)),
        (lambda: rows.load(c), lambda: account.load(c)),
    ]
    for act in rng.choice(steps):
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
    kernel: Any = SimpleNamespace(line=0, unit=SimpleNamespace(file="k.cpp"))
    rows.follow(kernel)
    for _ in range((1, 10, 200, 200)[number % 4]):
        c += rng.choice([0, 0, 1, 7])
        kernel.line = rng.randint(1, 3)
        do(rows, account, rng, c)
    account.finish(c)
    rows.finish(c)
    for thread, expected in zip(rows.threads, account.threads, strict=True):
        found = np.frombuffer(b"".join(thread.pending), np.int64).reshape(-1, 9)
        assert [plain(row) for row in found] == expected
        assert all(0 <= row <= len(expected) for row in thread.sources.rows)
