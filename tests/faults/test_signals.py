"""Signals to a sweep and to its workers, at any moment."""

from __future__ import annotations

import os
import signal
import time
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import polars
import pytest

from kernbench.sweep.run import run_sweep
from tests.faults.sweeps import check_resumed, count_reported, make_grid, read_table, start, start_command, start_sweep

CODES = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 143, signal.SIGINT: 130}
LONGEST_S = 1.0  # after some points; with its reports the sweep takes longer, but on a quick machine
LAST = "report.html"  # of the files of a sweep


@pytest.fixture
def grid(tmp_path: Path) -> dict[str, Any]:
    return make_grid(tmp_path)


@pytest.fixture
def whole(tmp_path: Path, grid: dict[str, Any]) -> polars.DataFrame:
    """The table of a sweep that nothing disturbs."""
    run_sweep(grid, tmp_path / "undisturbed", 1)
    return read_table(tmp_path / "undisturbed")


@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
def test_a_sweep_that_is_ended_at_any_moment_is_resumed(
    number: signal.Signals, tmp_path: Path, grid: dict[str, Any], whole: polars.DataFrame, random: Random, rounds: int
) -> None:
    for i in range(rounds):
        for attempt in count():
            out = tmp_path / f"{i}-{attempt}" / "out"
            if (reported := end_sweep(grid, out, number, random)) is not None:
                break
        assert reported
        if (out / "table.parquet").exists():  # not if it was about to be written
            assert len(read_table(out)) >= reported
        check_resumed(grid, out, whole, reported)


def end_sweep(grid: dict[str, Any], out: Path, number: signal.Signals, random: Random) -> int | None:
    """The points that a sweep reported before a signal ended it; None if it had ended by itself before the signal came."""
    out.parent.mkdir()
    with start_command(grid, out, random.choice([1, 2])) as family:
        family.read_line()
        for _ in range(random.randrange(2, 8)):
            family.read_line()
        time.sleep(random.uniform(0, 0.2 if random.random() < 0.5 else LONGEST_S))
        family.process.send_signal(number)
        code = family.wait()
        is_over = (out / LAST).exists() and code in (0, -number)  # Python gives signals back before it ends
        if is_over and code != CODES[number]:
            return None
        assert code == CODES[number], family.lines
        assert not any("Traceback" in line for line in family.lines)
        family.check_gone()
    return count_reported(family.lines)


def test_workers_that_are_ended_or_held_and_a_sweep_that_is_held_change_nothing(
    tmp_path: Path, random: Random, rounds: int
) -> None:
    grid = make_grid(tmp_path, pause=0.3)  # workers are at their points while they are looked for
    run_sweep(grid, tmp_path / "undisturbed", 2)
    whole = read_table(tmp_path / "undisturbed")
    for i in range(rounds):
        with start_sweep(grid, tmp_path / f"{i}" / "out") as family:
            family.read_line()
            ended = random.choice([signal.SIGKILL, signal.SIGTERM])  # once: a point that ends two workers is lost
            numbers = [ended, signal.SIGSTOP]
            for number in random.sample(numbers, len(numbers)):
                for _ in range(random.randrange(1, 3)):
                    family.read_line()
                worker = random.choice(family.wait_for_workers())
                os.kill(worker, number)
                if number == signal.SIGSTOP:
                    family.process.send_signal(number)
                    time.sleep(random.uniform(0, 0.3))
                    os.kill(worker, signal.SIGCONT)
                    family.process.send_signal(signal.SIGCONT)
            assert family.wait() == 0, family.lines
            family.check_gone()
        assert read_table(tmp_path / f"{i}" / "out").equals(whole)
        check_resumed(grid, tmp_path / f"{i}" / "out", whole, len(whole))


def test_workers_end_with_their_sweep_in_the_middle_of_a_point(tmp_path: Path) -> None:
    with start_sweep(make_grid(tmp_path, points=2, pause=1000), tmp_path / "out") as family:
        family.read_line()
        family.wait_for_workers()
        family.process.kill()
        family.check_gone()


def test_ctrl_c_while_the_command_line_is_imported_is_heard(random: Random, rounds: int) -> None:
    for _ in range(3 * rounds):
        with start("-X", "importtime", "-m", "kernbench", "run", "vector-add", "--topology", "tiny") as family:
            while "click" not in family.read_line():
                assert family.lines[-1], family.lines
            for _ in range(random.randrange(60)):
                family.read_line()
            family.process.send_signal(signal.SIGINT)
            assert family.wait() == 130, family.lines
            assert family.lines[-1] == "error: interrupted\n"
            assert not any("Traceback" in line for line in family.lines)
