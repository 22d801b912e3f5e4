"""Runs of single points of a sweep: where they are kept, and what they are called.

A point that is run alone leaves its run in the directory of its sweep, in `runs/` under the beginning of the point's key. So
it is there when the viewer is started again.
"""

from __future__ import annotations

import re
from pathlib import Path

from kernbench.atomic_output import RESULT
from kernbench.errors import InputError
from kernbench.library import is_file

RUNS = "runs"  # the directory, in that of the sweep
KEY_DIGITS = 16  # of a point's key
_KEY = re.compile(rf"[0-9a-f]{{{KEY_DIGITS}}}")
_SHOWN = 8  # digits in the name of a run


def name_of_point(sweep: str, key: str) -> str:
    """The name of the run of a point in URLs."""
    return f"{sweep} · {key[:_SHOWN]}"


def runs_of_points(sweep: Path) -> Path:
    """The directory of the runs of a sweep. Errors: InputError if it is a link that leads out of the sweep's."""
    path = sweep / RUNS
    if not path.resolve().is_relative_to(sweep.resolve()):
        raise InputError(f"{path} leads out of {sweep}, and the viewer writes nothing outside it")
    return path


def list_point_runs(sweep: Path) -> dict[str, Path]:
    """The directories of the runs that a sweep's directory holds, by the beginnings of the points' keys."""
    try:
        inside = runs_of_points(sweep)
        found = [path for path in inside.iterdir() if _KEY.fullmatch(path.name) and not path.is_symlink()]
    except (OSError, InputError):
        return {}
    return {path.name: path for path in sorted(found) if is_file(path / RESULT)}
