"""Shrink a program that differs: threads, rows and tokens are removed one by one, transfers made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kernbench.machine.costs import Terms
from kernbench.program.ops import ROW_WIDTH, Op
from kernbench.program.program import Program
from kernbench.program.rows import pack_row
from tests.engine.bare import BareMachine

Row = tuple[int, ...]


@dataclass(frozen=True)
class Recipe:
    """A program as plain data."""

    machine: object
    counters: int
    durations: tuple[Terms, ...]
    threads: tuple[tuple[Row, ...], ...]
    plans: tuple[tuple[tuple[Row, ...], ...], ...]  # their tokens

    @staticmethod
    def of(program: Program) -> Recipe:
        """The recipe of a program that does not grow."""
        program.flush()
        rows = [tuple(row) for row in program.op.tolist()]
        tokens = [tuple(rows[a:b]) for a, b in zip(program.token_start, program.token_end, strict=True)]
        starts = program.plan_start.tolist()
        return Recipe(
            program.machine,
            len(program.counter_labels),
            tuple(program.durations),
            tuple(tuple(row for _, at, n in thread.chunks for row in rows[at : at + n]) for thread in program.threads),
            tuple(tuple(tokens[a:b]) for a, b in pairwise(starts)),
        )

    def build(self) -> Program:
        """The program."""
        program = Program(self.machine)
        for counter in range(self.counters):
            program.counter(f"c{counter}")
        for terms in self.durations[1:]:
            program.duration(*terms)
        for tokens in self.plans:
            rows = np.array([row for token in tokens for row in token], np.int64).reshape(-1, ROW_WIDTH)
            program.plan(rows, np.cumsum([0, *map(len, tokens)]), np.zeros(len(rows), np.int32), {})
        for number, rows in enumerate(self.threads):
            thread = program.thread(f"t{number}")
            for row in rows:
                thread.extend(pack_row(0, *row))
        return program

    def smaller(self) -> Iterator[Recipe]:
        """Recipes with a little less, those that leave out most first."""
        for at, rows in enumerate(self.threads):
            if rows:
                yield replace(self, threads=_put(self.threads, at, ()))
        for at, rows in enumerate(self.threads):
            for less in _less(_group(rows)):
                yield replace(self, threads=_put(self.threads, at, sum(less, ())))
        for at, tokens in enumerate(self.plans):
            for less in _less(tokens, at_least=1):
                yield replace(self, plans=_put(self.plans, at, less))
        for at, rows in enumerate(self.threads):
            for place, row in enumerate(rows):
                for simpler in _simpler(row):
                    yield replace(self, threads=_put(self.threads, at, _put(rows, place, simpler)))


def _group(rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], ...]:
    """Rows that must stay together: a transfer to many with its arrivals, any other by itself."""
    groups: list[tuple[Row, ...]] = []
    for row in rows:
        groups.append((*groups.pop(), row) if row[0] == Op.ARRIVE else (row,))
    return tuple(groups)


def _put(things: tuple, at: int, thing: object) -> tuple:
    return (*things[:at], thing, *things[at + 1 :])


def _less(things: tuple, at_least: int = 0) -> Iterator[tuple]:
    """Without half of them, without a quarter ... without one."""
    size = len(things) // 2 or 1
    while size:
        for at in range(0, len(things), size):
            less = things[:at] + things[at + size :]
            if at_least <= len(less) < len(things):
                yield less
        size //= 2


def _simpler(row: Row) -> Iterator[Row]:
    """A transfer of fewer bytes, on the first channel, without server, second counter and lead."""
    if row[0] != Op.MOVE:
        return
    for column, value in ((2, row[2] // 2), (3, 0), (5, -1), (6, -1), (7, 0)):
        if row[column] != value:
            yield _put(row, column, value)


def shrink(program: Program, differs: Callable[[Program], object], tries: int = 2000) -> Program:
    """The smallest program found that differs, after so many tries at the most; the same program if there is none."""
    recipe, left = Recipe.of(program), tries
    found = True
    while found and left > 0:
        found = False
        for smaller in recipe.smaller():
            left -= 1
            if differs(smaller.build()):
                recipe, found = smaller, True
                break
            if left == 0:
                break
    return recipe.build()


def describe(program: Program) -> str:
    """A program in lines that can be read: the routes it takes, what threads do, tokens of plans."""
    recipe = Recipe.of(program)
    rows = [row for thread in recipe.threads for row in thread] + [r for plan in recipe.plans for t in plan for r in t]
    lines = [*_describe_routes(recipe.machine, sorted({row[1] for row in rows if row[0] == Op.MOVE}))]
    for number, thread in enumerate(recipe.threads):
        lines += [f"thread {number}: {_describe_row(recipe, row)}" for row in thread]
    used = {row[1] for row in rows if row[0] == Op.PIPE}
    for number in sorted(used):
        for token in recipe.plans[number]:
            lines.append(f"plan {number}: {'; '.join(_describe_row(recipe, row) for row in token)}")
    return "\n".join(lines)


def _describe_routes(machine, routes: list[int]) -> Iterator[str]:
    """Steps of routes, each with its station, stripes, overhead and whole; then the stations."""
    tables, seen = machine.routing.tables(), set()
    for route in routes:
        at = slice(tables.start[route], tables.start[route + 1])
        steps = [tuple(column.tolist()) for column in np.stack([column[at] for column in tables[1:5]], axis=1)]
        seen |= {station for first, count, *_ in steps for station in range(first, first + count)}
        ends = f"lead {tables.lead_fs[route]}, tail {tables.tail_fs[route]}, direction {tables.direction[route]}"
        yield f"route {route}: {ends}, steps (station, stripes, overhead, store and forward) {steps}"
    for station in sorted(seen):
        figures = tuple(int(column[station]) for column in machine.stations)
        yield f"station {station}: (full, quantum, turn, propagation) {figures}"
    yield f"flits of {machine.flit_bytes} bytes, {machine.edge_count} links, " + (
        "a bare machine" if isinstance(machine, BareMachine) else str(machine.name)
    )


def _describe_row(recipe: Recipe, row: Row) -> str:
    """The op and its operands."""
    kind, *operands = row
    if kind == Op.MOVE:
        names = ("route", "bytes", "stripe", "done", "hold", "arrive", "lead")
        operands = [f"{name} {value}" for name, value in zip(names, operands, strict=True)]
    if kind in (Op.DELAY, Op.EXEC):
        operands.append(f"duration {recipe.durations[operands[kind == Op.EXEC]]}")
    return f"{Op(kind).name} {' '.join(map(str, operands))}"
