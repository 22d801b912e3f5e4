"""Mutants of the loops: their list, and that random programs notice one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, because the loops are plain Python there."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True)


@pytest.mark.slow
def test_mutants_are_listed_without_what_changes_nothing() -> None:
    script = "from tests.mutants import *; [print(mutant) for name in MODULES for mutant, _ in list_mutants(name)]"
    said = run("-c", script).stdout
    assert "rounds - 1" in said
    assert "transfer.stamp += 1  ->  nothing" in said
    assert "(is_followed)" in said
    assert not any(word in said for word in ("CHECKED", "prefetch", "state.split", "assert"))


def test_changes_that_are_no_mistakes_are_mutants_of_functions_that_exist() -> None:
    script = (
        "from tests.mutants import *; known = {mutant.change for name in MODULES for mutant, _ in list_mutants(name)}"
    )
    done = run("-c", f"{script}; print(len(known), sorted(load_equivalent() - known))")
    count, stale = done.stdout.split(maxsplit=1)
    assert (int(count) > 1000, stale) == (True, "[]\n"), done.stderr


@pytest.mark.slow
def test_a_program_notices_a_mutant() -> None:
    asked = ("--module", "flits.reservations", "--function", "unmark_in_use", "--kind", "mesh", "--verbose")
    done = run("-m", "tests.mutants", *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "station.users -= 1  ->  nothing" in done.stdout
    assert "0 live" in done.stdout
