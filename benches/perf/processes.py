"""Measuring whole processes: seconds and peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent


def seconds(*command: str, **environment: str) -> float:
    """Wall time of `python COMMAND` from start to end."""
    begun = perf_counter()
    _run(command, environment)
    return perf_counter() - begun


class Cost(NamedTuple):
    """What a process took."""

    processor_s: float
    peak_bytes: int


def cost(*command: str, **environment: str) -> Cost:
    """Processor time and peak memory of `python COMMAND`, without the processes that it starts."""
    whole = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env=whole, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


def outcome(call: str, **environment: str) -> Any:
    """What `print(json.dumps(...))` of an expression of `benches.perf.measured` says, computed in its own process."""
    source = f"import json; from benches.perf import measured; print(json.dumps(measured.{call}))"
    return json.loads(_run(("-c", source), environment))


def _run(command: tuple[str, ...], environment: dict[str, str]) -> str:
    whole = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
