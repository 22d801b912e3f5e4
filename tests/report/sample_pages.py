"""What a `report.html` carries."""

from __future__ import annotations

import gzip
import io
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import polars


def read_element(path: Path, name: str) -> str:
    """The text of a script element of a page."""
    found = re.search(rf'<script id="{name}"[^>]*>([^<]*)</script>', path.read_text(encoding="utf-8"))
    assert found
    return found[1]


def read_state(path: Path) -> dict[str, Any]:
    """The state of the sweep that a page shows."""
    return json.loads(read_element(path, "state"))


def unpack(path: Path, name: str) -> bytes:
    """The bytes that an element carries."""
    return gzip.decompress(b64decode(read_element(path, name)))


def read_points(path: Path) -> polars.DataFrame:
    """The points of a page, as they reach its script."""
    return polars.read_ipc(io.BytesIO(unpack(path, "table")))
