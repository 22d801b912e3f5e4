"""A soak test: random programs for hours, the compiled loop in both modes against the interpreter.

    python -m tests.engine.soak --seconds 3600                      # every kind, about equally long
    python -m tests.engine.soak --kind partial --programs 200000    # of each kind given
    python -m tests.engine.soak --kind tiny --seed 887 --programs 1 --shrink

A program is known by its kind and seed. Seeds are counted up from `--seed`. The exit code is 1 if any program differs.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from time import monotonic
from typing import NamedTuple

from tests.engine.difference import find_difference
from tests.engine.live import LiveProgram
from tests.engine.random_programs import KINDS, SLOW, draw_program
from tests.engine.shrink import describe, shrink

CHUNK = 50  # programs that a process is given at a time
SLOW_CHUNK = 1
HANGS_S = 600  # a chunk that takes longer hangs: its process writes where it is and ends
TELL_S = 60


class Chunk(NamedTuple):
    """Programs of one kind with seeds from one on."""

    kind: str
    seed: int
    count: int


class Soak:
    """What has been found out so far."""

    def __init__(self) -> None:
        self.programs: Counter[str] = Counter()
        self.differing: Counter[str] = Counter()
        self.begun = self.told = monotonic()

    def note(self, chunk: Chunk, found: list[tuple[int, str]]) -> None:
        """Count what has been run, and tell of programs that differ."""
        self.programs[chunk.kind] += chunk.count
        self.differing[chunk.kind] += len(found)
        for seed, difference in found:
            print(f"{chunk.kind} {seed}: {difference}\n    {replay(chunk.kind, seed)}", flush=True)
        if monotonic() >= self.told + TELL_S:
            self.told = monotonic()
            self.tell()

    def tell(self) -> None:
        """One line: how many programs, how many of them differ, how long it took."""
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in self.programs.items())
        total, differing = self.programs.total(), self.differing.total()
        print(f"{monotonic() - self.begun:.0f} s: {total:,} programs ({kinds}), {differing} differ", flush=True)


def replay(kind: str, seed: int) -> str:
    """The command that runs one program again."""
    return f"python -m tests.engine.soak --kind {kind} --seed {seed} --programs 1 --shrink"


def check(chunk: Chunk) -> list[tuple[int, str]]:
    """The seeds of a chunk whose programs differ, and how."""
    seeds = range(chunk.seed, chunk.seed + chunk.count)
    found = ((seed, find_difference(draw_program(chunk.kind, seed))) for seed in seeds)
    return [(seed, difference) for seed, difference in found if difference]


def check_apart(chunk: Chunk) -> list[tuple[int, str]]:
    """The same in a process of its own, which ends if it hangs."""
    faulthandler.dump_traceback_later(HANGS_S, exit=True)
    try:
        return check(chunk)
    finally:
        faulthandler.cancel_dump_traceback_later()


def list_chunks(kinds: Sequence[str], seed: int, programs: int | None, ends: float) -> Iterator[Chunk]:
    """Chunks of all kinds in turn, until there are so many programs of each, or time is over."""
    done = dict.fromkeys(kinds, 0)
    while any(programs is None or done[kind] < programs for kind in kinds):
        for kind in kinds:
            count = SLOW_CHUNK if kind in SLOW else CHUNK
            count = count if programs is None else min(count, programs - done[kind])
            if monotonic() >= ends:
                return
            if count > 0:
                yield Chunk(kind, seed + done[kind], count)
                done[kind] += count


def run_apart(soak: Soak, chunks: Iterator[Chunk], workers: int) -> bool:
    """Run chunks on several processes; answers whether all of them lived."""
    pending = {}
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        try:
            for chunk in chunks:
                pending[pool.submit(check_apart, chunk)] = chunk
                if len(pending) >= 2 * workers:
                    _gather(soak, pending, FIRST_COMPLETED)
            while pending:
                _gather(soak, pending, FIRST_COMPLETED)
        except BrokenProcessPool:
            lost = "\n    ".join(f"{chunk.kind} {chunk.seed}, {chunk.count} programs" for chunk in pending.values())
            print(f"a process died or hung; under way were\n    {lost}", flush=True)
            return False
    return True


def _gather(soak: Soak, pending: dict, until: str) -> None:
    for future in wait(pending, return_when=until).done:
        soak.note(pending[future], future.result())
        del pending[future]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; answers the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--kind", action="append", choices=KINDS, help="may be given again; without it, all kinds")
    parser.add_argument("--programs", type=int, help="of each kind; without it, as many as there is time for")
    parser.add_argument("--seconds", type=float, help="stop after that; 60, unless --programs is given")
    parser.add_argument("--seed", type=int, default=0, help="of the first program of each kind")
    parser.add_argument("--workers", type=int, default=2, help="processes; 1 runs everything in this one")
    parser.add_argument(
        "--shrink", action="store_true", help="make the first program that differs smaller and print it"
    )
    asked = parser.parse_args(arguments)
    soak, kinds = Soak(), asked.kind or list(KINDS)
    seconds = asked.seconds or (float("inf") if asked.programs else 60)
    chunks = list_chunks(kinds, asked.seed, asked.programs, soak.begun + seconds)
    lived = True
    if asked.workers > 1 and asked.programs != 1:
        lived = run_apart(soak, chunks, asked.workers)
    else:
        for chunk in chunks:
            soak.note(chunk, check(chunk))
    soak.tell()
    if asked.shrink and soak.differing.total():
        _print_smallest(kinds, asked.seed)
    return int(not lived or soak.differing.total() > 0)


def _print_smallest(kinds: Sequence[str], seed: int) -> None:
    """The program of a seed made smaller, if it differs and does not grow."""
    for kind in kinds:
        program = draw_program(kind, seed)
        if not isinstance(program, LiveProgram) and find_difference(program):
            program = shrink(program, find_difference)
            print(f"\n{kind} {seed}, smaller: {find_difference(program)}\n{describe(program)}")


if __name__ == "__main__":
    sys.exit(main())
