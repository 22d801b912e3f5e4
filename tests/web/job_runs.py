"""Directories of runs, of a bench on the tiny machine that is simulated once, and a command that stands in for `kernbench`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from kernbench.frontends.run import run_bench

# Takes the arguments of `kernbench run`. It copies the run `explained` into --out, as if it had been made by them. It
# waits while there is a file `waits`. With --what-if it says how far it is, then waits for a file `go`.
COMMAND = """
import json, shutil, sys, time
from pathlib import Path
here = Path(__file__).parent
arguments = sys.argv[1:]
(here / "arguments.json").write_text(json.dumps(arguments))
print(json.dumps({"stage": "simulating", "share": None}), file=sys.stderr, flush=True)
while (here / "waits").exists():
    time.sleep(0.01)
if "--what-if" in arguments:
    print(json.dumps({"stage": "what if: 3.0 of 12 runs done", "share": 0.25}), file=sys.stderr, flush=True)
    while not (here / "go").exists():
        time.sleep(0.01)
if (here / "fails").exists():
    print("warning: something", file=sys.stderr)
    print("error: the bench is gone", file=sys.stderr)
    sys.exit(2)
shutil.copytree(here / "explained", arguments[arguments.index("--out") + 1])
"""


@cache
def _kept() -> tuple[Path, Path]:
    """A run as it is kept without and with an explanation."""
    place = Path(mkdtemp(prefix="kernbench-test-runs-"))
    result = run_bench("gemm-single-pe", "tiny", parameters={"M": 32})
    result.write(place / "plain")
    result.write(place / "explained", result.explain())
    return place / "plain", place / "explained"


def write_run(directory: Path, told: Mapping[str, object] | None = None, *, explained: bool = False) -> Path:
    """A directory of a run, in whose `result.json` some fields are as told; returns it."""
    shutil.copytree(_kept()[explained], directory)
    if told:
        result = json.loads((directory / "result.json").read_text(encoding="utf-8"))
        del result["sha256"]
        (directory / "result.json").write_text(json.dumps({**result, **told}), encoding="utf-8")
    return directory


def write_command(directory: Path, *, fails: bool = False) -> list[str]:
    """A command for `RunJobs`, whose files are in a new directory."""
    directory.mkdir()
    write_run(directory / "explained", explained=True)
    (directory / "command.py").write_text(COMMAND, encoding="utf-8")
    if fails:
        (directory / "fails").touch()
    return [sys.executable, str(directory / "command.py")]
