"""Operations that loops count: random kernels against an interpreter that counts each statement where it is executed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kernbench.tanto.language.translate import translate
from tests.engine.fresh import run_seed

VARIABLES = ("a", "b")
STEPS = {"i++": (1, 1), "++i": (1, 1), "i += 1": (1, 1), "i = i + 1": (1, 2), "i += 2": (2, 1)}  # amount, operations
MOST_TURNS = 300  # of the loops of a kernel; one with more is not looked at
Tree = list[tuple[Any, ...]]


@dataclass
class Writer:
    """Writes random statements, as lines of a kernel and as trees for the interpreter."""

    draw: Random
    lines: list[str] = field(default_factory=list[str])
    loops: int = 0

    def block(self, counters: tuple[str, ...], depth: int = 0, in_loop: bool = False) -> Tree:
        """Some statements."""
        return [self.statement(counters, depth, in_loop) for _ in range(self.draw.randint(depth == 0, 3))]

    def value(self, counters: tuple[str, ...]) -> str:
        """A variable, a counter or a number."""
        return self.draw.choice([*VARIABLES, *counters, str(self.draw.randint(0, 4))])

    def statement(self, counters: tuple[str, ...], depth: int, in_loop: bool) -> tuple[Any, ...]:
        """A statement."""
        draw, add = self.draw, self.lines.append
        blocks = ["if", "for", "for", "for", "while", "do"] if depth < 4 else []
        what = draw.choice(["set", "see", "see", *blocks, *(["break", "continue", "return"] if in_loop else [])])
        if what == "set":
            target = draw.choice([*VARIABLES, *counters] if draw.random() < 0.3 else VARIABLES)
            left, more = self.value(counters), draw.randint(0, 2)
            add(f"{target} = {left} + {more};")
            return what, target, left, more
        if what == "see":
            value = self.value(counters)
            add(f"out.set({value}, 0);")
            return what, value
        if what not in blocks:
            add(f"{what};")
            return (what,)
        self.loops += 1
        counter, start, bound, more = f"i{self.loops}", self.value(counters), self.value(counters), draw.randint(0, 2)
        ended = f"< {bound} + {more}"
        if what == "if":
            add(f"if ({start} {ended}) {{")
            inner = self.block(counters, depth + 1, in_loop)
            add("} else {")
            other = self.block(counters, depth + 1, in_loop)
            add("}")
            return what, start, bound, more, inner, other
        if what == "for":
            step = draw.choice(list(STEPS))
            add(f"for (uint32 {counter} = {start}; {counter} {ended}; {step.replace('i', counter)}) {{")
            inner = self.block((*counters, counter), depth + 1, True)
            add("}")
            return what, counter, start, bound, more, STEPS[step], inner
        add(f"while ({start} {ended}) {{" if what == "while" else "do {")
        inner = self.block(counters, depth + 1, True)
        add("}" if what == "while" else f"}} while ({start} {ended});")
        return what, start, bound, more, inner


class Left(Exception):
    """A loop or the kernel was left; `args` say how."""


class Interpreter:
    """Executes trees, and counts."""

    def __init__(self) -> None:
        self.values = dict.fromkeys(VARIABLES, 1)
        self.count, self.turns = 2, 0  # the entry of a function takes two
        self.seen = list[tuple[int, int]]()

    def read(self, name: str) -> int:
        """A value."""
        return int(name) if name.isdigit() else self.values[name]

    def holds(self, start: str, bound: str, more: int) -> bool:
        """A comparison."""
        return self.read(start) < self.read(bound) + more

    def block(self, tree: Tree) -> None:
        """Statements in turn."""
        for what, *rest in tree:
            getattr(self, f"do_{what}", self.leave)(what, *rest)

    def leave(self, what: str) -> None:
        """A statement that leaves a block."""
        raise Left(what)

    def do_set(self, _: str, target: str, left: str, more: int) -> None:
        """An assignment."""
        self.count += 2
        self.values[target] = self.read(left) + more

    def do_see(self, _: str, value: str) -> None:
        """A call of a method."""
        self.count += 2
        self.seen.append((self.count, self.read(value)))

    def do_if(self, _: str, start: str, bound: str, more: int, inner: Tree, other: Tree) -> None:
        """A branch."""
        self.count += 3
        self.block(inner if self.holds(start, bound, more) else other)

    def turn(self, inner: Tree) -> bool:
        """A turn of a loop; returns whether the loop goes on."""
        self.count += 4
        self.turns += 1
        if self.turns > MOST_TURNS:
            raise Left("endless")
        try:
            self.block(inner)
        except Left as left:
            if left.args[0] not in ("break", "continue"):
                raise
            return left.args[0] == "continue"
        return True

    def do_for(
        self, _: str, counter: str, start: str, bound: str, more: int, step: tuple[int, int], inner: Tree
    ) -> None:
        """A loop that counts."""
        self.values[counter] = self.read(start)
        self.count += 1
        while self.holds(counter, bound, more) and self.turn(inner):
            self.values[counter] += step[0]
            self.count += step[1]

    def do_while(self, _: str, start: str, bound: str, more: int, inner: Tree) -> None:
        """A loop that asks before a turn."""
        while self.holds(start, bound, more) and self.turn(inner):
            pass

    def do_do(self, _: str, start: str, bound: str, more: int, inner: Tree) -> None:
        """A loop that asks behind a turn."""
        while self.turn(inner) and self.holds(start, bound, more):
            pass


class Counter:
    """What a translated kernel calls, as `K` and as its argument."""

    def __init__(self) -> None:
        self.c = self.line = 0
        self.seen = list[tuple[int, int]]()

    def set(self, value: int, _: float) -> None:
        """Note a call."""
        self.seen.append((self.c, value))


def translated(folder: Path, lines: list[str]) -> str:
    """The module of a kernel with some lines."""
    file = folder / "k.cpp"
    head = "void kernel(local<T> out) {\nuint32 a = 1, b = 1;\n"
    file.write_text(head + "\n".join(lines) + "\n}\n")
    return translate(file).python


def run(module: str) -> Counter:
    """Run a module."""
    found = Counter()
    space: dict[str, Any] = {"K": found}
    exec(compile(module, "<kernel>", "exec"), space)
    space["f_kernel"](found)
    return found


@pytest.mark.parametrize("number", range(40))
def test_random_loops_count_each_statement_where_it_is_executed(tmp_path: Path, number: int) -> None:
    draw = Random(run_seed() * 1000 + number)
    for _ in range(25):
        writer, wanted = Writer(draw), Interpreter()
        tree = writer.block(())
        wanted.count += 2  # a and b
        try:
            wanted.block(tree)
        except Left as left:
            if left.args[0] == "endless":
                continue
        found = run(translated(tmp_path, writer.lines))
        assert (found.seen, found.c) == (wanted.seen, wanted.count), "\n".join(writer.lines)


@pytest.mark.parametrize(
    ("loop", "is_range"),
    [
        ("for (uint32 i = 0; i < 9; i++) { out.set(i, 0); }", True),
        ("for (int i = a; i < 3 * 2; ++i) { out.set(i, 0); }", True),
        ("for (uint32 i = 0; i < a * (b + 1) / 2; i = i + 1) { out.set(i, 0); }", True),
        ("for (uint32 i = 0; i < a; i++) { a = i; out.set(a, 0); }", False),
        ("for (uint32 i = 0; i < 9; i++) { out.set(i++, 0); }", False),
        ("for (uint32 i = 0; i < 9; i += 2) { out.set(i, 0); }", False),
        ("for (a = 0; a < 9; a++) { out.set(a, 0); }", False),
        ("for (uint8 i = 0; i < 9; i++) { out.set(i, 0); }", False),
        ("for (float i = 0; i < 9; i++) { out.set(0, i); }", False),
        ("for (uint32 i = 0; i < more(a); i++) { out.set(i, 0); }", False),
        ("uint32 l[2] = {7, 8}; for (uint32 i = 0; i < l[1]; i++) { l[1] = 3; }", False),
        ("for (uint32 i = 0; i < g; i++) { more(1); }", False),
    ],
)
def test_loops_that_count_by_one_to_a_fixed_bound_are_ranges(tmp_path: Path, loop: str, is_range: bool) -> None:
    file = tmp_path / "k.cpp"
    head = "uint32 g = 4;\nuint32 more(uint32 x) { g = x; return x + 1; }\n"
    file.write_text(f"{head}void kernel(local<T> out) {{ uint32 a = 1, b = 1; {loop} }}\n")
    assert ("in range(" in translate(file).python) == is_range


def test_a_condition_that_calls_sees_all_operations_before_it(tmp_path: Path) -> None:
    file = tmp_path / "k.cpp"
    head = "bool under(local<T> out, uint32 x) { out.set(x, 0); return x < 2; }\n"
    file.write_text(head + "void kernel(local<T> out) { for (uint32 i = 0; under(out, i); i++) { out.set(9, 0); } }\n")
    found = run(translate(file).python)
    assert found.seen == [(7, 0), (16, 9), (21, 1), (30, 9), (35, 2)]
