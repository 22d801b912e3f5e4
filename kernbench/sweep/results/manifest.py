"""`sweep.json` as others read it: what the sweep is of, and with what, how and when its points were run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernbench.schema.guards import is_list, is_mapping

TEXTS = ("file", "method", "description", "workload", "bench", "topology", "mode", "kernbench", "command", "date")
COUNTS = ("points", "most_points")
QUESTION = "question"  # what the sweep asks: `sweep.question`


def read_manifest(path: Path) -> dict[str, Any]:
    """What a manifest says; what it does not say, or says in another form, is left out."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not is_mapping(found):
        return {}
    texts = {name: found[name] for name in TEXTS if isinstance(found.get(name), str)}
    counts = {name: found[name] for name in COUNTS if isinstance(found.get(name), int)}
    objectives, digests, code = found.get("objectives"), found.get("digests"), found.get("code")
    asked = {QUESTION: found[QUESTION]} if is_mapping(found.get(QUESTION)) else {}
    return {
        **texts,
        **counts,
        **asked,
        "objectives": objectives if is_list(objectives) else [],
        "digests": {name: str(digest) for name, digest in digests.items()} if is_mapping(digests) else {},
        "code": code if is_mapping(code) else {},
    }
