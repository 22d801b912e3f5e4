"""An explanation that is made later, by running a kept run again, and its place in the directory of that run."""

from __future__ import annotations

import shutil
from pathlib import Path

from kernbench.atomic_output import RESULT, write_directory, write_json
from kernbench.errors import InputError
from kernbench.sealing import load_sealed_json

TIMES = ("latency_ns", "makespan_ns")  # equal in each repetition of a run


def check_same(directory: Path, made: Path) -> None:
    """Check that a run made again took the time of the one that was kept.

    Errors: InputError where it did not: the bench, the machine or KernBench has changed since.
    """
    kept, again = load_sealed_json(directory / RESULT), load_sealed_json(made / RESULT)
    for name in TIMES:
        if kept.get(name) != again.get(name):
            raise InputError(
                f"the run has another {name} now, {again.get(name):,} in place of {kept.get(name):,}: its bench, its machine "
                "or KernBench has changed since it was kept, so this would explain another run; run it again with --out"
            )


def add_explanation(directory: Path, made: Path) -> None:
    """Put into a run's directory the explanation of the same run in `made`, and the files that it lacks, all or nothing.

    Errors: as `check_same`; RunError if the disk refuses.
    """
    check_same(directory, made)
    kept, again = load_sealed_json(directory / RESULT), load_sealed_json(made / RESULT)
    lacking = [file for file in made.iterdir() if file.name != RESULT and not (directory / file.name).exists()]
    places = {name: str(directory / Path(path).name) for name, path in again["files"].items()}
    whole = {**kept, "files": {**places, **kept.get("files", {})}, "explain": again["explain"]}

    def write(partial: Path) -> None:
        for file in lacking:
            shutil.copyfile(file, partial / file.name)
        write_json(whole, partial / RESULT)

    write_directory(directory, write)
