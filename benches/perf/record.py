"""The findings of a run of the benchmarks, and the machine they come from."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("numba", "numpy", "simpy", "greenlet")
FALL = 0.2  # a ratio that fell by more than this share is flagged


@dataclass
class Record:
    """The findings of a run: {name: {"value", "target"}} ratios, figures with their "unit" too, and where."""

    machine: dict[str, Any] = field(default_factory=dict)
    ratios: dict[str, dict[str, Any]] = field(default_factory=dict)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)


def read_run(path: Path) -> Record:
    """The findings in a file that pytest-benchmark wrote."""
    run = json.loads(path.read_text(encoding="utf-8"))
    found = Record(_describe_machine(run["datetime"]))
    for benchmark in run["benchmarks"]:
        found.ratios |= benchmark["extra_info"].get("ratios", {})
        found.figures |= benchmark["extra_info"].get("figures", {})
    return found


def read_reference(path: Path) -> Record:
    """The reference, empty if there is none."""
    return Record(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Record()


def write_reference(path: Path, record: Record) -> None:
    """Write a reference, figures rounded to four digits."""
    rounded = asdict(record)
    for found in (*rounded["ratios"].values(), *rounded["figures"].values()):
        found["value"] = float(f"{found['value']:.4g}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rounded, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def find_fallen(run: Record, reference: Record) -> list[str]:
    """The ratios that are more than FALL below the reference."""
    return [
        name
        for name, ratio in run.ratios.items()
        if name in reference.ratios and ratio["value"] < (1 - FALL) * reference.ratios[name]["value"]
    ]


def _describe_machine(date: str) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "date": date[:16].replace("T", " "),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    if "model name" not in named:
        return platform.processor() or platform.machine()
    return f"{named['model name']}, family {named.get('cpu family', '?')} model {named.get('model', '?')}"
