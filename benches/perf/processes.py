"""Measuring whole processes: seconds and peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent


def seconds(*command: str, **environment: str) -> float:
    """Wall time of `python COMMAND` from start to end."""
    begun = perf_counter()
    _run(command, environment)
    return perf_counter() - begun


def outcome(call: str, **environment: str) -> Any:
    """What `print(json.dumps(...))` of an expression of `benches.perf.measured` says, computed in its own process."""
    source = f"import json; from benches.perf import measured; print(json.dumps(measured.{call}))"
    return json.loads(_run(("-c", source), environment))


def _run(command: tuple[str, ...], environment: dict[str, str]) -> str:
    whole = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
