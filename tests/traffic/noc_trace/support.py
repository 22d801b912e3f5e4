"""Small NoC traces, made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

START = 1_000_000  # of the counter of cycles


def event(type: str, cycle: int, place: tuple[int, int] = (2, 1), **more: Any) -> dict[str, Any]:
    """A record of an event; `to` stands for dx and dy."""
    if "to" in more:
        more["dx"], more["dy"] = more.pop("to")
    record = {"proc": "NCRISC", "noc": "NOC_0", "vc": -1, "sx": place[0], "sy": place[1], "num_bytes": 0}
    return {**record, "type": type, "timestamp": START + cycle, **more}


def zone(cycle: int, place: tuple[int, int] = (2, 1)) -> dict[str, Any]:
    """The edge of a kernel."""
    record = {"proc": "NCRISC", "zone": "NCRISC-KERNEL", "zone_phase": "begin"}
    return {**record, "sx": place[0], "sy": place[1], "timestamp": START + cycle}


def write_trace(path: Path, *records: Any) -> Path:
    """A file of records."""
    path.write_text(json.dumps(list(records)))
    return path


def reading(place: tuple[int, int], owner: tuple[int, int], nbytes: int = 2048, *at: int) -> list[dict[str, Any]]:
    """The records of a core that reads at some cycles, 0 by default, and waits."""
    times = at or (0,)
    return [
        *(event("READ", cycle, place, to=owner, num_bytes=nbytes) for cycle in times),
        event("READ_BARRIER_START", times[-1] + 1, place),
        event("READ_BARRIER_END", times[-1] + 500, place),
    ]
